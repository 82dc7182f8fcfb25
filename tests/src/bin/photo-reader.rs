//! Reads and copies photos for tests, whose own programs cannot be started again.

fn main() {
    photo::serve_if_asked();
    photo::copy_if_asked();
}
