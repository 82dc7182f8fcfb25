//! `cargo run -p description`: writes the files of the repository that are made from the description.
//!
//! With the base URL of a deployment and a folder, it writes both forms of that deployment's description into the folder
//! instead.

use std::io;
use std::path::Path;

use reference::Reference;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            description::files().iter().try_for_each(|(path, text)| std::fs::write(here.join(path), text))
        }
        [base_url, folder] => {
            let reference = Reference::new(&format!("{base_url}/docs"));
            let files = ["openapi.json", "openapi-3.0.json"];
            files.iter().try_for_each(|name| {
                let file = reference.file(&format!("/{name}")).ok_or(io::ErrorKind::NotFound)?;
                std::fs::write(Path::new(folder).join(name), file.body)
            })
        }
        _ => Err(io::Error::other("usage: description [BASE_URL FOLDER]")),
    }
}
