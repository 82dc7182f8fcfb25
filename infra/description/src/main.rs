//! `cargo run -p description`: writes the generated file of the repository.
//!
//! With the base URL of a deployment and a folder as arguments, it instead writes that deployment's description to the
//! folder.

use std::io;
use std::path::Path;

use reference::Reference;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            std::fs::write(here.join(description::FILE), description::published())
        }
        [base_url, folder] => {
            let reference = Reference::new(&format!("{base_url}/docs"));
            let file = reference
                .file("/openapi.json")
                .ok_or(io::ErrorKind::NotFound)?;
            std::fs::write(Path::new(folder).join("openapi.json"), file.body)
        }
        _ => Err(io::Error::other("usage: description [BASE_URL FOLDER]")),
    }
}
