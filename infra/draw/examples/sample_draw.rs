//! Writes the files of a sample draw, its certificates and its sheet into a folder: what
//! `.ci/try-page/certificate.mjs` tries. usage: sample_draw FOLDER

#[expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "the sample is always the same"
)]
#[path = "../tests/draw/forgeries.rs"]
mod forgeries;
#[expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "the sample is always the same"
)]
#[path = "../tests/draw/sample.rs"]
mod sample;
#[expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    dead_code,
    reason = "the sample is always the same, and the library verifies it in tests"
)]
#[path = "../tests/draw/sample_plan.rs"]
mod sample_plan;

use std::path::PathBuf;
use std::{env, fs, io};

use sample::Sample;
use sample_plan::{FORGED, SamplePlan};
use serde_json::json;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| io::Error::other("name a folder: sample_draw FOLDER"))?;
    let sample = Sample::new();
    sample.write(&folder)?;
    fs::write(folder.join("certificate.html"), sample.certificate(true))?;
    fs::write(
        folder.join("certificate-without-entries.html"),
        sample.certificate(false),
    )?;
    fs::write(folder.join("sheet.html"), sample.sheet())?;
    let forged = Sample::forged();
    forged.write(&folder.join("forged"))?;
    fs::write(
        folder.join("certificate-forged.html"),
        forged.certificate(true),
    )?;
    // Pages have no other line ends.
    let pages: Vec<_> = forgeries::all()
        .filter(|forgery| !forgery.applied_to(&sample).entries.contains('\r'))
        .map(|forgery| {
            json!([
                forgery.what,
                forgery.applied_to(&sample).certificate(true),
                forgery.expected
            ])
        })
        .collect();
    fs::write(
        folder.join("forgeries.json"),
        serde_json::to_string(&pages)?,
    )?;
    fs::write(folder.join("plan.html"), SamplePlan::new().certificate())?;
    let plans: Vec<_> = FORGED
        .iter()
        .map(|forged| json!([forged.what, forged.applied().certificate(), forged.expected]))
        .collect();
    fs::write(
        folder.join("forged-plans.json"),
        serde_json::to_string(&plans)?,
    )?;
    let openings: Vec<_> = (0..sample::ENTRANTS)
        .map(|row| sample.opening(row).to_string())
        .collect();
    fs::write(
        folder.join("openings.json"),
        serde_json::to_string(&openings)?,
    )
}
