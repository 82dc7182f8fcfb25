//! The simulated partner's behavior by a code's first four letters.

/// Codes that begin with the same four letters.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub prefix: &'static str,
    /// The outcome, for people.
    pub what: &'static str,
    pub(super) behaviour: Behaviour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Accept(Win),
    /// Refuses the code with this status and text.
    Refuse(i64, &'static str),
    /// Refuses the code with an HTTP status other than success.
    RefuseWith(u16, i64, &'static str),
    /// Reports the code as accepted, with an HTTP status that contradicts it.
    AcceptWith(u16),
    /// Redeems the code, but replies slowly the first time.
    Slow,
    Down,
    DownThenRefuses,
    /// Redeems the code; a retry with the same reference is told that it was used.
    Flip,
    /// Redeems the code, but closes the connection the first time instead of replying.
    Gone,
    /// Always unavailable.
    Dead,
    /// Replies with a page instead of JSON.
    Html,
    Huge,
    /// Replies with the entries as text.
    TextEntries,
    /// Replies with an unknown status.
    NewStatus,
    /// Replies with two JSON documents.
    TwoDocuments,
    /// Redirects to the metadata address of some clouds, which serves credentials.
    Move,
    /// Replies one byte at a time.
    Drip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Win {
    No,
    Prize,
}

/// Failures per reference before a partner that is down recovers.
pub(super) const DOWN_FIRST: u32 = 2;

/// Status of an accepted code.
pub const ACCEPTED: i64 = 0;
/// Status of an accepted code that wins at once.
pub const WON: i64 = 1;
/// Status of an unknown code.
pub const INVALID: i64 = 20;
/// Status of a code that was already redeemed.
pub const USED: i64 = 21;
/// Status of a consumer who reached a limit.
pub const LIMIT: i64 = 22;
/// Status of a blocked consumer.
pub const BLOCKED: i64 = 23;

pub const CASES: &[Case] = &[
    case(
        "OKAY",
        "accepted, with 2 entries",
        Behaviour::Accept(Win::No),
    ),
    case(
        "WINS",
        "accepted, with an instant prize",
        Behaviour::Accept(Win::Prize),
    ),
    case(
        "BADC",
        "refused: not a code",
        Behaviour::Refuse(INVALID, "Invalid code"),
    ),
    case(
        "USED",
        "refused: used already",
        Behaviour::Refuse(USED, "Code already used"),
    ),
    case(
        "LIMT",
        "refused: the limit is reached",
        Behaviour::Refuse(LIMIT, "Limit reached"),
    ),
    case(
        "BLOK",
        "refused: blocked",
        Behaviour::Refuse(BLOCKED, "Blocked"),
    ),
    case(
        "MISS",
        "404 with the status of an invalid code",
        Behaviour::RefuseWith(404, INVALID, "Invalid code"),
    ),
    case(
        "CONF",
        "409 with the status of a used code",
        Behaviour::RefuseWith(409, USED, "Code already used"),
    ),
    case(
        "ODDS",
        "422 with the status of an accepted code",
        Behaviour::AcceptWith(422),
    ),
    case(
        "SLOW",
        "accepted, but said too late; at once when asked again",
        Behaviour::Slow,
    ),
    case(
        "DOWN",
        "503 the first two times, then accepted",
        Behaviour::Down,
    ),
    case(
        "DNBC",
        "503 the first two times, then refused: not a code",
        Behaviour::DownThenRefuses,
    ),
    case(
        "GONE",
        "accepted, but the connection breaks; said when asked again",
        Behaviour::Gone,
    ),
    case(
        "FLIP",
        "accepted, and used already when asked again",
        Behaviour::Flip,
    ),
    case("DEAD", "503, always", Behaviour::Dead),
    case("HTML", "200 with a page instead of JSON", Behaviour::Html),
    case("HUGE", "200 with 10 MB", Behaviour::Huge),
    case("STRG", "200 with entries as text", Behaviour::TextEntries),
    case("NEWC", "200 with an unknown status", Behaviour::NewStatus),
    case(
        "TWOJ",
        "200 with two JSON documents",
        Behaviour::TwoDocuments,
    ),
    case(
        "MOVE",
        "a redirect to http://169.254.169.254/",
        Behaviour::Move,
    ),
    case("DRIP", "one byte a second", Behaviour::Drip),
];

const fn case(prefix: &'static str, what: &'static str, behaviour: Behaviour) -> Case {
    Case {
        prefix,
        what,
        behaviour,
    }
}

/// Strips everything but letters and digits, and uppercases.
pub(super) fn normal(code: &str) -> String {
    code.chars()
        .filter(|c| c.is_alphanumeric())
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

/// The behavior for a [`normal`] code; an unknown prefix is refused as invalid.
pub(super) fn of(code: &str) -> Behaviour {
    let case = CASES.iter().find(|case| code.starts_with(case.prefix));
    case.map_or(Behaviour::Refuse(INVALID, "Invalid code"), |case| {
        case.behaviour
    })
}
