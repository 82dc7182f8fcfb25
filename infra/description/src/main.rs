//! `cargo run -p description`: writes the generated files of the repository.
//!
//! With the base URL of a deployment and a folder as arguments, it instead writes that deployment's description to the
//! folder, as OpenAPI 3.1 and 3.0.

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
