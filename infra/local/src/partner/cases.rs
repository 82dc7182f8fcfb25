use self::Behavior::*;
use self::Reply::*;
use crate::simulator::{Case, case, find};

#[derive(Clone, Copy, Debug)]
pub enum Behavior {
    Accept,
    Win,
    Fixed(Reply),
    Slow,
    /// Unavailable at first, then accepts.
    Down,
    DownThenInvalid,
    DownThenWin,
    /// A retry of the reference is told that the code was used.
    Flip,
    /// Closes the first connection instead of replying.
    Gone,
}

#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// HTTP status, partner's status and text.
    Status(u16, i64, &'static str),
    /// HTTP status, media type and body.
    Text(u16, &'static str, &'static str),
    Huge,
    /// Redirects to some clouds' metadata address, which serves credentials.
    Move,
    /// One byte at a time, without end.
    Drip,
}

/// Failures per reference before recovery.
pub(super) const FAILURES: u32 = 2;

pub(super) const ACCEPTED: i64 = 0;
pub(super) const WON: i64 = 1;
const INVALID: i64 = 20;
const USED: i64 = 21;
const LIMIT: i64 = 22;
const BLOCKED: i64 = 23;

pub(super) const NOT_A_CODE: Reply = Status(200, INVALID, "Invalid code");
pub(super) const USED_BEFORE: Reply = Status(200, USED, "Code already used");
pub(super) const UNAVAILABLE: Reply = Text(503, HTML, "<h1>Service unavailable</h1>");
const LOGIN: &str = "<!doctype html><title>Login</title><h1>Please log in</h1>";
const TEXT_ENTRIES: &str = r#"{"status":0,"text":"Accepted","entries":"2","prize":null}"#;
const TWO_DOCUMENTS: &str =
    "{\"status\":0,\"text\":\"Accepted\"}\n{\"status\":21,\"text\":\"Code already used\"}";
const HTML: &str = "text/html; charset=utf-8";
pub(super) const JSON: &str = "application/json";

pub const CASES: &[Case<Behavior>] = &[
    case("OKAY", "accepted, with 2 entries", Accept),
    case("WINS", "accepted, with an instant prize", Win),
    fixed("BADC", "refused: not a code", NOT_A_CODE),
    fixed("USED", "refused: used already", USED_BEFORE),
    fixed(
        "LIMT",
        "refused: the limit is reached",
        Status(200, LIMIT, "Limit reached"),
    ),
    fixed("BLOK", "refused: blocked", Status(200, BLOCKED, "Blocked")),
    fixed(
        "MISS",
        "404 with the status of an invalid code",
        Status(404, INVALID, "Invalid code"),
    ),
    fixed(
        "CONF",
        "409 with the status of a used code",
        Status(409, USED, "Code already used"),
    ),
    fixed(
        "ODDS",
        "422 with the status of an accepted code",
        Status(422, ACCEPTED, "Accepted"),
    ),
    case(
        "SLOW",
        "accepted, but said too late; at once when asked again",
        Slow,
    ),
    case("DOWN", "503 the first two times, then accepted", Down),
    case(
        "DNBC",
        "503 the first two times, then refused: not a code",
        DownThenInvalid,
    ),
    case(
        "DNWN",
        "503 the first two times, then accepted, with an instant prize",
        DownThenWin,
    ),
    case(
        "GONE",
        "accepted, but the connection breaks; said when asked again",
        Gone,
    ),
    case("FLIP", "accepted, and used already when asked again", Flip),
    fixed("DEAD", "503, always", UNAVAILABLE),
    fixed(
        "HTML",
        "200 with a page instead of JSON",
        Text(200, HTML, LOGIN),
    ),
    fixed("HUGE", "200 with 10 MB", Huge),
    fixed(
        "STRG",
        "200 with entries as text",
        Text(200, JSON, TEXT_ENTRIES),
    ),
    fixed(
        "NEWC",
        "200 with an unknown status",
        Status(200, 77, "A new kind of answer"),
    ),
    fixed(
        "TWOJ",
        "200 with two JSON documents",
        Text(200, JSON, TWO_DOCUMENTS),
    ),
    fixed("MOVE", "a redirect to http://169.254.169.254/", Move),
    fixed("DRIP", "byte by byte, without end", Drip),
];

const fn fixed(prefix: &'static str, what: &'static str, reply: Reply) -> Case<Behavior> {
    case(prefix, what, Fixed(reply))
}

/// Keeps letters and digits, in uppercase.
pub(super) fn normalize(code: &str) -> String {
    code.chars()
        .filter(|c| c.is_alphanumeric())
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

pub(super) fn behavior(code: &str) -> Behavior {
    find(CASES, code).map_or(Fixed(NOT_A_CODE), |case| case.behavior)
}
