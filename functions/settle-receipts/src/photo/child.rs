//! The child process: limits its own resources, reads one photo from standard input and writes what it finds. A failure
//! stays inside this process.

use std::env;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::process;

use common::domain::receipt::photo::MAX_BYTES;
use rustix::process::{Resource, Rlimit, setrlimit};

use super::cascade;
use super::decode::decode;
use super::protocol::{JOB_VARIABLE, Job, Line, MAX_TEXT_CHARS, MAX_TEXTS};

/// Reads a photo and exits, if a [`PhotoReader`](super::PhotoReader) started this process; otherwise returns at once.
/// Call it first in `main`, before any thread starts. `accepts` says which texts are good enough to stop at.
pub fn serve_if_asked(accepts: fn(&str) -> bool) {
    let Some(job) = env::var_os(JOB_VARIABLE) else {
        return;
    };
    let served = job
        .to_str()
        .ok_or_else(|| io::Error::other("the job is not text"))
        .and_then(|job| Ok(serde_json::from_str(job)?))
        .and_then(|job| serve(job, accepts));
    // The parent treats a missing last line as a crash, as intended for a failure here.
    process::exit(i32::from(served.is_err()));
}

fn serve(job: Job, accepts: fn(&str) -> bool) -> io::Result<()> {
    limit(job)?;
    let mut photo = Vec::new();
    io::stdin().take(MAX_BYTES + 1).read_to_end(&mut photo)?;
    let luma = match decode(&photo) {
        Ok(luma) => luma,
        Err(fault) => return tell(&Line::NotDecoded(fault)),
    };
    drop(photo);
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
        if told.iter().any(|text| accepts(text)) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    tell(&Line::Finished)
}

/// Limits written memory (not address space, of which every thread reserves much) and processor time, and disables core
/// dumps, which would contain the photo.
fn limit(job: Job) -> io::Result<()> {
    let most = |value| Rlimit { current: Some(value), maximum: Some(value) };
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
