//! Reads and copies photos in a child process for tests, whose own programs cannot be started again to do so.

fn main() {
    settle_receipts::read_photo_if_asked();
    settle_receipts::photo::copy_if_asked();
}
