//! What the simulated partner makes of a code, by its first four letters.

/// Codes that begin with the same four letters.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The four letters.
    pub prefix: &'static str,
    /// What comes of such a code, for people.
    pub what: &'static str,
    pub(super) behaviour: Behaviour,
}

/// What the partner does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Redeems the code and says so.
    Accept(Win),
    /// Refuses the code, with this status and text.
    Refuse(i64, &'static str),
    /// Refuses the code under an HTTP status that is none of success.
    RefuseWith(u16, i64, &'static str),
    /// Says that the code is accepted, under an HTTP status that says otherwise.
    AcceptWith(u16),
    /// Redeems the code, and takes its time to say so.
    Slow,
    /// Unavailable at first, then accepts.
    Down,
    /// Unavailable at first, then refuses the code.
    DownThenRefuses,
    /// Redeems the code; asked again under the same reference, says that it is used.
    Flip,
    /// Redeems the code, and closes the connection at first instead of saying so.
    Gone,
    /// Unavailable.
    Dead,
    /// A page instead of an answer.
    Html,
    /// An answer of 10 MB.
    Huge,
    /// Entries as text.
    TextEntries,
    /// A status that nobody was told of.
    NewStatus,
    /// Two answers in one.
    TwoDocuments,
    /// Leads to an address that holds secrets in some clouds.
    Move,
    /// One byte at a time.
    Drip,
}

/// Whether an accepted code wins at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Win {
    /// It does not.
    No,
    /// It does.
    Prize,
}

/// How often a partner that is down for a while is down, for each reference.
pub(super) const DOWN_FIRST: u32 = 2;

/// Status of an accepted code.
pub const ACCEPTED: i64 = 0;
/// Status of an accepted code that wins at once.
pub const WON: i64 = 1;
/// Status of a code that is none.
pub const INVALID: i64 = 20;
/// Status of a code that was redeemed already.
pub const USED: i64 = 21;
/// Status of a consumer who has had enough.
pub const LIMIT: i64 = 22;
/// Status of a consumer who may not take part.
pub const BLOCKED: i64 = 23;

/// Every case.
pub const CASES: &[Case] = &[
    case("OKAY", "accepted, with 2 entries", Behaviour::Accept(Win::No)),
    case("WINS", "accepted, with an instant prize", Behaviour::Accept(Win::Prize)),
    case("BADC", "refused: not a code", Behaviour::Refuse(INVALID, "Invalid code")),
    case("USED", "refused: used already", Behaviour::Refuse(USED, "Code already used")),
    case("LIMT", "refused: the limit is reached", Behaviour::Refuse(LIMIT, "Limit reached")),
    case("BLOK", "refused: blocked", Behaviour::Refuse(BLOCKED, "Blocked")),
    case(
        "MISS",
        "404 with the status of a code that is none",
        Behaviour::RefuseWith(404, INVALID, "Invalid code"),
    ),
    case("CONF", "409 with the status of a used code", Behaviour::RefuseWith(409, USED, "Code already used")),
    case("ODDS", "422 with the status of an accepted code", Behaviour::AcceptWith(422)),
    case("SLOW", "accepted, but said too late; at once when asked again", Behaviour::Slow),
    case("DOWN", "503 the first two times, then accepted", Behaviour::Down),
    case("DNBC", "503 the first two times, then refused: not a code", Behaviour::DownThenRefuses),
    case("GONE", "accepted, but the connection breaks; said when asked again", Behaviour::Gone),
    case("FLIP", "accepted, and used already when asked again", Behaviour::Flip),
    case("DEAD", "503, always", Behaviour::Dead),
    case("HTML", "200 with a page instead of JSON", Behaviour::Html),
    case("HUGE", "200 with 10 MB", Behaviour::Huge),
    case("STRG", "200 with entries as text", Behaviour::TextEntries),
    case("NEWC", "200 with an unknown status", Behaviour::NewStatus),
    case("TWOJ", "200 with two JSON documents", Behaviour::TwoDocuments),
    case("MOVE", "a redirect to http://169.254.169.254/", Behaviour::Move),
    case("DRIP", "one byte a second", Behaviour::Drip),
];

const fn case(prefix: &'static str, what: &'static str, behaviour: Behaviour) -> Case {
    Case { prefix, what, behaviour }
}

/// A code without what people put between its letters.
pub(super) fn normal(code: &str) -> String {
    code.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_uppercase()).collect()
}

/// What the partner makes of a [`normal`] code; of one that it does not know, that it is none.
pub(super) fn of(code: &str) -> Behaviour {
    let case = CASES.iter().find(|case| code.starts_with(case.prefix));
    case.map_or(Behaviour::Refuse(INVALID, "Invalid code"), |case| case.behaviour)
}
