//! `cargo run -p reference`: prints the description, for tools that read files.
//!
//! Arguments: the base URL of the server to name, and `--older` for OpenAPI 3.0. With `--bruno FOLDER`, it writes
//! the collection of requests for Bruno into the folder instead.

use std::io::{self, Write};
use std::path::Path;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, folder] = arguments.as_slice()
        && option == "--bruno"
    {
        return write_collection(Path::new(folder));
    }
    let base_url = arguments.iter().find(|argument| !argument.starts_with("--"));
    let description = reference::openapi(base_url.map(String::as_str).unwrap_or_default());
    let older = arguments.iter().any(|argument| argument == "--older");
    let description = if older { reference::older::openapi_3_0(&description) } else { description };
    write!(io::stdout(), "{}", reference::description_text(&description))
}

fn write_collection(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder.join("environments"))?;
    for (name, text) in reference::bruno::files(&reference::openapi("")) {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}
