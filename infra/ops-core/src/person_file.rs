//! The file that hands a person's data over: a ZIP with `person.json`, the same as a page, and the photos.

use std::fmt::Write as _;
use std::io::{self, Seek, Write};
use std::path::Path;

use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::codes::new_file::NewFile;
use crate::failure::Failure;

/// A photo with its path in the file.
pub(crate) struct Photo {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Writes the file, readable by its owner alone; completely or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut file = NewFile::begin(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync());
    written.map_err(|error| Failure::from_io(path, "writing", &error))?;
    file.finish().map_err(|failed| Failure::from_io(path, "writing", &failed.error))
}

/// The bytes of the file.
pub(crate) fn packed(data: &Value, photos: &[Photo]) -> Result<Vec<u8>, Failure> {
    let packed = zipped(io::Cursor::new(Vec::new()), data, photos);
    let too_large =
        |error| Failure::new("file_failed", format!("the data does not fit into a ZIP file: {error}"));
    packed.map(io::Cursor::into_inner).map_err(too_large)
}

fn zipped<W: Write + Seek>(out: W, data: &Value, photos: &[Photo]) -> io::Result<W> {
    // Photos do not shrink, and the rest is small.
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut zip = ZipWriter::new(out);
    let (json, page) = (format!("{data:#}\n"), page(data));
    let texts = [("person.json", json.as_bytes()), ("person.html", page.as_bytes())];
    let photos = photos.iter().map(|photo| (photo.name.as_str(), photo.bytes.as_slice()));
    for (name, bytes) in texts.into_iter().chain(photos) {
        zip.start_file(name, options)?;
        zip.write_all(bytes)?;
    }
    Ok(zip.finish()?)
}

/// The data as a page of nested lists.
fn page(data: &Value) -> String {
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Personal data</title>\n\
         <style>body{font:15px/1.5 sans-serif;max-width:50em;margin:2em auto}dt{font-weight:600}</style>\n\
         <h1>Personal data</h1>\n",
    );
    list(data, &mut html);
    html
}

fn list(value: &Value, html: &mut String) {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Object(fields) => {
            html.push_str("<dl>");
            for (name, value) in fields {
                let _ = write!(html, "<dt>{}</dt><dd>", escaped(&name.replace('_', " ")));
                list(value, html);
                html.push_str("</dd>");
            }
            writeln!(html, "</dl>")
        }
        Value::Array(values) => {
            html.push_str("<ol>");
            for value in values {
                html.push_str("<li>");
                list(value, html);
                html.push_str("</li>");
            }
            writeln!(html, "</ol>")
        }
        Value::Null => write!(html, "-"),
        Value::String(text) => write!(html, "{}", escaped(text)),
        Value::Bool(_) | Value::Number(_) => write!(html, "{value}"),
    };
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
