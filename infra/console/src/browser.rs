//! Opens the operator's browser with a page in a file, since every user of the machine can read a
//! program's arguments, and the link has the token.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::prelude::*;

const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};
const RUNTIME_FOLDER: &str = "XDG_RUNTIME_DIR";
const PAGE: &str = "open.html";

/// A page that redirects to the link. Only this user can read it; dropping the result deletes it.
pub(crate) fn open(env: &Env, link: &str) -> io::Result<TempDir> {
    let folder = match env
        .optional(RUNTIME_FOLDER)
        .map(|folder| private_folder_in(Path::new(&folder)))
    {
        Some(Ok(folder)) => folder,
        Some(Err(_)) | None => private_folder_in(&std::env::temp_dir())?,
    };
    let path = folder.path().join(PAGE);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(page(link).as_bytes())?;
    let mut opener = Command::new(OPENER);
    opener
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(folder)
}

fn private_folder_in(parent: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("ops-console-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
}

fn page(link: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="referrer" content="no-referrer";
                meta http-equiv="refresh" content={ "0; url=" (link) };
                title { "Operator's console" }
            }
            body { p { a href=(link) { "Open the console" } } }
        }
    };
    page.into_string()
}
