//! `cargo run -p api-pages` writes the files of the function `api-docs`; with a base URL and a
//! folder, that deployment's description there.

use std::io;
use std::path::Path;

use api_pages::{EXAMPLE_BASE_URL, FOLDER, files};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
            for (name, text) in files() {
                let path = folder.join(name);
                std::fs::create_dir_all(path.parent().unwrap_or(&folder))?;
                std::fs::write(path, text)?;
            }
            Ok(())
        }
        [base_url, folder] => {
            let mut files = files().into_iter();
            let (name, text) = files
                .find(|(name, _)| name == "openapi.json")
                .ok_or(io::ErrorKind::NotFound)?;
            std::fs::write(
                Path::new(folder).join(name),
                text.replace(EXAMPLE_BASE_URL, base_url),
            )
        }
        _ => Err(io::Error::other("usage: api-pages [BASE_URL FOLDER]")),
    }
}
