//! The commands: each calls the library and reports the result.

use crate::prelude::*;

pub(crate) mod audit;
pub(crate) mod campaign;
pub(crate) mod code;
pub(crate) mod draw;
pub(crate) mod instant;
pub(crate) mod key;
pub(crate) mod numbers;
pub(crate) mod person;
pub(crate) mod phone;
pub(crate) mod prize;
pub(crate) mod secret;
pub(crate) mod smoke;
pub(crate) mod submission;
pub(crate) mod webhook;
pub(crate) mod whoami;

fn phone_or_typed(argument: &str, terminal: &mut Terminal<'_>) -> Result<Phone> {
    typed_or(argument, "Phone: ", terminal)?.parse().map_err(|_| {
        failure!(
            "phone_invalid",
            "this is not a Tanzanian mobile number; write one, such as 0712345678 or +255712345678"
        )
    })
}

/// `-` prompts for it, which keeps it out of the shell's history.
fn typed_or(argument: &str, prompt: &str, terminal: &mut Terminal<'_>) -> Result<String> {
    if argument.trim() != "-" {
        return Ok(argument.to_owned());
    }
    let unread = |why: &str| Failure::new("no_terminal", why);
    match terminal.read_line(prompt) {
        Ok(Some(line)) => Ok(line),
        Ok(None) => Err(unread(
            "there is no terminal to type it at; run this in a terminal, or give it in place of -",
        )),
        Err(error) => Err(unread(&format!(
            "asking failed: {error}; give it in place of -"
        ))),
    }
}
