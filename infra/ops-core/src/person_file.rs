//! The file that hands a person's data over: a ZIP with `person.json`, the same as a page, and the photos.

mod labels;

use std::fmt::Write as _;
use std::io::{self, Seek, Write};

use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::failure::Failure;

/// A file that gets one photo after the other, so that memory has one at a time.
pub(crate) struct PersonFile<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> PersonFile<W> {
    /// Writes everything but the photos.
    pub(crate) fn begin(out: W, data: &Value) -> Result<Self, Failure> {
        let mut file = Self { zip: ZipWriter::new(out) };
        file.add("person.json", format!("{data:#}\n").as_bytes())?;
        file.add("person.html", page(data).as_bytes())?;
        Ok(file)
    }

    /// Adds a photo, or another file.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        // Photos do not shrink, and the rest is small.
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        let begun = self.zip.start_file(name, options).map_err(io::Error::from);
        begun.and_then(|()| self.zip.write_all(bytes)).map_err(|error| failed(&error))
    }

    /// Writes the table of contents.
    pub(crate) fn finish(self) -> Result<W, Failure> {
        self.zip.finish().map_err(|error| failed(&error.into()))
    }
}

/// The file could not be written.
pub(crate) fn failed(error: &io::Error) -> Failure {
    let message = format!("writing the ZIP file failed: {error}; make room on the disk, then run this again");
    Failure::new("file_failed", message)
}

/// What stands above the data, in Swahili and in English.
const HEADING: &str = "<!doctype html><html lang=\"sw\"><meta charset=\"utf-8\"><title>Taarifa binafsi / Personal data</title>\n\
    <style>body{font:15px/1.5 sans-serif;max-width:50em;margin:2em auto}dt{font-weight:600}</style>\n\
    <h1>Taarifa binafsi / <span lang=\"en\">Personal data</span></h1>\n\
    <p>Haya ndiyo tunayohifadhi kuhusu namba hii ya simu. Hali na sababu ni kwa maneno ya mfumo wenyewe.</p>\n\
    <p lang=\"en\">This is what we hold on this phone number. States and reasons are in the words of the system.</p>\n";

/// The data as a page of nested lists.
fn page(data: &Value) -> String {
    let mut html = String::from(HEADING);
    list(data, &mut html);
    html
}

fn list(value: &Value, html: &mut String) {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Object(fields) => {
            html.push_str("<dl>");
            for (name, value) in fields {
                let _ = write!(html, "<dt>{}</dt><dd>", label(name));
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
        Value::Bool(true) => write!(html, "ndiyo / <span lang=\"en\">yes</span>"),
        Value::Bool(false) => write!(html, "hapana / <span lang=\"en\">no</span>"),
        Value::Number(_) => write!(html, "{value}"),
    };
}

/// A field's label in both languages.
fn label(field: &str) -> String {
    match labels::find(field) {
        Some([swahili, english]) => format!("{swahili} / <span lang=\"en\">{english}</span>"),
        // Better than nothing to the reader.
        None => escaped(&field.replace('_', " ")),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
