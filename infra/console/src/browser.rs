//! Opens the operator's browser.

use std::process::{Command, Stdio};

/// The program that opens a link in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens a link. Where there is no browser, the printed link remains.
pub(crate) fn open(link: &str) {
    let mut command = Command::new(OPENER);
    let _ = command.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
