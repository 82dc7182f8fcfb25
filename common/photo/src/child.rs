//! The child process limits its own resources. Failures stay inside it.

use std::env;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::process;

use common::domain::ReceiptKey;
use common::domain::receipt::photo::MAX_BYTES;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::decode::{NotDecoded, decode, decode_colors};
use crate::luma::Luma;
use crate::protocol::{JOB_VARIABLE, Job, Line, MAX_TEXT_CHARS, MAX_TEXTS, SHOW_VARIABLE};
use crate::{cascade, sanitized_copy};

/// Reads a photo and exits, if a [`PhotoReader`](crate::PhotoReader) started this process. Call it
/// first in `main`, before any thread starts.
pub fn serve_if_asked() {
    answer_if_asked(JOB_VARIABLE, decode, serve);
}

/// Copies a photo and exits, if a [`PhotoReader`](crate::PhotoReader) started this process for it.
/// Functions lack the encoder.
pub fn copy_if_asked() {
    answer_if_asked(SHOW_VARIABLE, decode_colors, |photo, _| {
        io::stdout()
            .lock()
            .write_all(&sanitized_copy::encode(photo)?)
    });
}

fn answer_if_asked<T>(
    variable: &str,
    decode: fn(&[u8]) -> Result<T, NotDecoded>,
    answer: fn(T, Job) -> io::Result<()>,
) {
    let Some(job) = env::var_os(variable) else {
        return;
    };
    let answered = job
        .to_str()
        .ok_or_else(|| io::Error::other("the job is not text"))
        .and_then(|job| Ok(serde_json::from_str(job)?))
        .and_then(|job| match decode(&photo(job)?) {
            Ok(decoded) => answer(decoded, job),
            Err(fault) => tell(&Line::NotDecoded(fault)),
        });
    // The parent treats a missing last line as a crash, as intended here.
    process::exit(i32::from(answered.is_err()));
}

fn photo(job: Job) -> io::Result<Vec<u8>> {
    limit(job)?;
    let mut photo = Vec::new();
    io::stdin().take(MAX_BYTES + 1).read_to_end(&mut photo)?;
    Ok(photo)
}

fn serve(luma: Luma, job: Job) -> io::Result<()> {
    let mut told = Vec::new();
    cascade::read(luma, job.reader_timeout, |texts| {
        for text in texts {
            if told.contains(&text) || text.chars().count() > MAX_TEXT_CHARS {
                continue;
            }
            // A parent that no longer listens kills this process anyway.
            if tell(&Line::Found(text.clone())).is_err() {
                return ControlFlow::Break(());
            }
            told.push(text);
            if told.len() >= MAX_TEXTS {
                return ControlFlow::Break(());
            }
        }
        if told.iter().any(|text| is_receipt(text)) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    tell(&Line::Finished)
}

fn is_receipt(text: &str) -> bool {
    ReceiptKey::from_payload(text).is_some_and(|key| key.time.is_some())
}

/// Limits written memory (threads reserve address space) and processor time; disables core dumps,
/// which have the photo.
fn limit(job: Job) -> io::Result<()> {
    let limits = [
        (Resource::Data, job.memory_bytes),
        (Resource::Cpu, job.cpu_seconds),
        (Resource::Core, 0),
    ];
    for (resource, limit) in limits {
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

fn tell(line: &Line) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_needs_code_and_time_of_a_receipt() {
        assert!(is_receipt("https://verify.tra.go.tz/AB12CD3456_101530"));
        assert!(!is_receipt("https://verify.tra.go.tz/AB12CD3456"));
        assert!(!is_receipt("https://example.com/win"));
    }
}
