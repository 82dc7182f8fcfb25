//! Makes photos of receipts for manual trials.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use receipt_photo::{Look, jpeg, png, qr_photo, webp};

/// Make a photo of a receipt with a QR code, to try the service with.
#[derive(Parser)]
struct Arguments {
    /// Text of the QR code; repeat it for several codes.
    #[arg(long, required = true, value_name = "TEXT")]
    payload: Vec<String>,

    /// File to write; its extension (.jpg, .jpeg, .png or .webp) sets the format.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,

    /// How hard the photo is to read.
    #[arg(long, value_enum, default_value_t = Care::Good)]
    care: Care,

    /// Another number makes another photo of the same receipt.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Care {
    /// Sharp and straight.
    Good,
    /// Turned, leaning and in the shade, but readable.
    Hasty,
    /// So blurred that nothing can be read.
    Hopeless,
}

fn main() -> ExitCode {
    match make(&Arguments::parse()) {
        Ok(made) => {
            println!("{made}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(arguments: &Arguments) -> Result<String, Box<dyn Error>> {
    let payloads: Vec<&str> = arguments.payload.iter().map(String::as_str).collect();
    let photo = qr_photo(&payloads, &arguments.care.look(), arguments.seed)?;
    let ending = arguments
        .output
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    let file = match ending.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" => jpeg(&photo, 85)?,
        "png" => png(&photo)?,
        "webp" => webp(&photo)?,
        _ => return Err("--output must end in .jpg, .jpeg, .png or .webp".into()),
    };
    fs::write(&arguments.output, &file)
        .map_err(|error| format!("{} cannot be written: {error}", arguments.output.display()))?;
    Ok(format!(
        "wrote {} ({} bytes)",
        arguments.output.display(),
        file.len()
    ))
}

impl Care {
    fn look(self) -> Look {
        match self {
            Self::Good => Look::default(),
            Self::Hasty => Look {
                turned: 25.0,
                leaning: 20.0,
                blur: 1.5,
                shadow: 0.5,
                noise: 8.0,
                ..Look::default()
            },
            Self::Hopeless => Look {
                blur: 15.0,
                shake: 40.0,
                ..Look::default()
            },
        }
    }
}
