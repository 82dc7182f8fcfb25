//! `cargo run -p reference`: prints the description, for tools that read files.
//!
//! Arguments: the base URL of the server to name, and `--older` for OpenAPI 3.0.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let base_url = arguments.iter().find(|argument| !argument.starts_with("--"));
    let description = reference::openapi(base_url.map(String::as_str).unwrap_or_default());
    let older = arguments.iter().any(|argument| argument == "--older");
    let description = if older { reference::older::openapi_3_0(&description) } else { description };
    writeln!(io::stdout(), "{description:#}")
}
