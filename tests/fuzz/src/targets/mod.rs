//! The targets, by origin of data.

mod background;
mod consumer;
mod operator;
mod partner;
mod photo;
mod receipt;
mod request;
mod service;
mod tax_authority;

use std::borrow::Cow;

/// A parser, and its properties.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Names its folder of samples too.
    pub name: &'static str,
    /// Panics when a property fails.
    pub run: fn(&[u8]),
    /// Shared samples: a folder, relative to this crate, and the start of file names.
    pub shared: &'static [(&'static str, &'static str)],
}

pub const TARGETS: &[Target] = &[
    own("amount", receipt::amount),
    Target {
        name: "campaign_file",
        run: operator::campaign_file,
        shared: &[("../../infra/local/demo", "")],
    },
    own("code", consumer::code),
    own("code_lines", operator::code_lines),
    Target {
        name: "http_event",
        run: request::event,
        shared: &[("../../events", "")],
    },
    own("http_request", request::whole),
    own("json_body", request::json_body),
    own("name", consumer::name),
    own("partner_reply", partner::reply),
    own("partner_rules", partner::rules),
    own("partner_url", partner::url),
    own("phone", consumer::phone),
    own("photo", photo::photo),
    Target {
        name: "queue_event",
        run: background::queue_event,
        shared: &[("../../events", "settle-")],
    },
    own("receipt_text", receipt::text),
    Target {
        name: "storage_event",
        run: background::storage_event,
        shared: &[("../../events", "mark-receipt-uploaded")],
    },
    own("tax_page", tax_authority::page),
];

const fn own(name: &'static str, run: fn(&[u8])) -> Target {
    Target {
        name,
        run,
        shared: &[],
    }
}

pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Input as text, with replacement characters: most parsers get valid UTF-8 only.
fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

fn first_line(input: &[u8]) -> (Cow<'_, str>, &[u8]) {
    match input.iter().position(|byte| *byte == b'\n') {
        Some(end) => (text(&input[..end]), &input[end + 1..]),
        None => (text(input), &[]),
    }
}
