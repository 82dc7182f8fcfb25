//! Reads and copies photos in a child process for tests, whose own programs cannot be started again to do so.

fn main() {
    photo::serve_if_asked();
    photo::copy_if_asked();
}
