//! The child process: limits its own resources, takes one photo from standard input and writes what it finds, or a copy to
//! show. A failure stays inside this process.

use std::env;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::process;

use common::domain::receipt::photo::MAX_BYTES;
use rustix::process::{Resource, Rlimit, setrlimit};

use super::decode::decode;
use super::protocol::{JOB_VARIABLE, Job, Line, MAX_TEXT_CHARS, MAX_TEXTS, SHOW_VARIABLE};
use super::{cascade, sanitized_copy};

/// Reads a photo and exits, if a [`PhotoReader`](super::PhotoReader) started this process; otherwise returns at once.
/// Call it first in `main`, before any thread starts. `accepts` says which texts are good enough to stop at.
pub fn serve_if_asked(accepts: fn(&str) -> bool) {
    answer_if_asked(JOB_VARIABLE, |job| serve(job, accepts));
}

/// Like [`serve_if_asked`], for programs that show photos to people: makes a copy to show. Functions do not call it, so
/// they do not contain the encoder.
pub fn copy_if_asked() {
    answer_if_asked(SHOW_VARIABLE, copy);
}

fn answer_if_asked(variable: &str, answer: impl FnOnce(Job) -> io::Result<()>) {
    let Some(job) = env::var_os(variable) else {
        return;
    };
    let answered = job
        .to_str()
        .ok_or_else(|| io::Error::other("the job is not text"))
        .and_then(|job| Ok(serde_json::from_str(job)?))
        .and_then(answer);
    // The parent treats a missing last line as a crash, as intended for a failure here.
    process::exit(i32::from(answered.is_err()));
}

/// The photo on standard input, for a process that is limited from now on.
fn photo(job: Job) -> io::Result<Vec<u8>> {
    limit(job)?;
    let mut photo = Vec::new();
    io::stdin().take(MAX_BYTES + 1).read_to_end(&mut photo)?;
    Ok(photo)
}

fn copy(job: Job) -> io::Result<()> {
    let luma = match decode(&photo(job)?) {
        Ok(luma) => luma,
        Err(fault) => return tell(&Line::NotDecoded(fault)),
    };
    let copy = sanitized_copy::encode(&luma)?;
    tell(&Line::Copy(
        u64::try_from(copy.len()).map_err(io::Error::other)?,
    ))?;
    io::stdout().lock().write_all(&copy)
}

fn serve(job: Job, accepts: fn(&str) -> bool) -> io::Result<()> {
    let luma = match decode(&photo(job)?) {
        Ok(luma) => luma,
        Err(fault) => return tell(&Line::NotDecoded(fault)),
    };
    let mut told = Vec::new();
    cascade::read(luma, job.effort, job.reader_timeout, |texts| {
        for text in texts {
            if told.contains(&text) || text.chars().count() > MAX_TEXT_CHARS {
                continue;
            }
            // If the parent no longer listens, it kills this process anyway.
            if tell(&Line::Found(text.clone())).is_err() {
                return ControlFlow::Break(());
            }
            told.push(text);
            if told.len() >= MAX_TEXTS {
                return ControlFlow::Break(());
            }
        }
        if told.iter().any(|text| accepts(text)) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    tell(&Line::Finished)
}

/// Limits written memory (not address space, of which every thread reserves much) and processor time, and disables core
/// dumps, which would contain the photo.
fn limit(job: Job) -> io::Result<()> {
    let most = |value| Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    setrlimit(Resource::Data, most(job.memory_bytes))?;
    setrlimit(Resource::Cpu, most(job.cpu_seconds))?;
    setrlimit(Resource::Core, most(0))?;
    Ok(())
}

fn tell(line: &Line) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    out.flush()
}
