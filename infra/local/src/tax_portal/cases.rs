//! The portal's behavior by receipt code.

use chrono::Days;

/// Behavior for all codes with one prefix. A code is the prefix, the shop's two digits, then any running number:
/// `GOOD010001` is a receipt of the first shop.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The first four letters of the codes.
    pub prefix: &'static str,
    /// The outcome, for people.
    pub what: &'static str,
    pub(super) behaviour: Behaviour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Found(Paper),
    /// Found only after [`FIRST`] look-ups without it, like `Busy` and `Down`; for `Swapped`, [`SWAPPED_FIRST`].
    Late,
    Busy,
    Down,
    Swapped,
    /// Never found, like all that follow.
    Missing,
    Dead,
    Hanging,
    AlwaysSwapped,
    OtherLayout,
    Empty,
    Huge,
    Loop,
    Away,
    Refused,
}

/// The contents of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paper {
    /// One product that a campaign wants, and others.
    Wanted,
    /// Several wanted products, with quantities.
    Many,
    /// No line names a product.
    Generic,
    /// Products, but no wanted ones.
    Unwanted,
    Cancelled,
    Training,
    LongAgo,
    Future,
    OtherShop,
    OtherDevice,
    /// In the portal's previous layout.
    OlderPage,
}

/// Look-ups with another result before a receipt is found.
pub(super) const FIRST: u32 = 2;
/// Look-ups that show another receipt's page before the right one.
pub(super) const SWAPPED_FIRST: u32 = 1;
/// Age of an old receipt.
pub(super) const LONG_AGO: Days = Days::new(400);
/// The time on every receipt, as sent in a look-up.
pub const TIME: &str = "10:15:30";

/// All cases. Other prefixes and unknown shops are never found.
pub const CASES: &[Case] = &[
    case(
        "GOOD",
        "found, with a product that takes part",
        Behaviour::Found(Paper::Wanted),
    ),
    case(
        "MANY",
        "found, with several of them; one quantity is decimal",
        Behaviour::Found(Paper::Many),
    ),
    case(
        "GENR",
        "found, but it names no product",
        Behaviour::Found(Paper::Generic),
    ),
    case(
        "NOIT",
        "found, but none of its products takes part",
        Behaviour::Found(Paper::Unwanted),
    ),
    case(
        "VOID",
        "found, but cancelled",
        Behaviour::Found(Paper::Cancelled),
    ),
    case(
        "TRAI",
        "found, but of a device in training",
        Behaviour::Found(Paper::Training),
    ),
    case(
        "OLDD",
        "found, dated 400 days ago",
        Behaviour::Found(Paper::LongAgo),
    ),
    case(
        "FUTR",
        "found, dated the day after tomorrow",
        Behaviour::Found(Paper::Future),
    ),
    case(
        "SHOP",
        "found, of a trader that does not take part",
        Behaviour::Found(Paper::OtherShop),
    ),
    case(
        "SERI",
        "found, of the trader's, but of an unknown device",
        Behaviour::Found(Paper::OtherDevice),
    ),
    case(
        "OLDP",
        "found, on a page of the older layout",
        Behaviour::Found(Paper::OlderPage),
    ),
    case(
        "TIME",
        "found; another time is answered in place",
        Behaviour::Found(Paper::Wanted),
    ),
    case(
        "LATE",
        "missing for the first 2 look-ups, then found",
        Behaviour::Late,
    ),
    case("NONE", "always missing", Behaviour::Missing),
    case(
        "BUSY",
        "throttled for the first 2 look-ups, then found",
        Behaviour::Busy,
    ),
    case(
        "DOWN",
        "503 for the first 2 look-ups, then found",
        Behaviour::Down,
    ),
    case("DEAD", "always 503", Behaviour::Dead),
    case("HANG", "answers nothing for long", Behaviour::Hanging),
    case(
        "SWAP",
        "the page of another receipt at first, then found",
        Behaviour::Swapped,
    ),
    case(
        "SWAX",
        "always the page of another receipt",
        Behaviour::AlwaysSwapped,
    ),
    case("HTML", "a page of another layout", Behaviour::OtherLayout),
    case("EMPT", "an empty page", Behaviour::Empty),
    case("HUGE", "a page of 100 MB", Behaviour::Huge),
    case("LOOP", "redirects without end", Behaviour::Loop),
    case("AWAY", "a redirect to another host", Behaviour::Away),
    case("INDX", "the Referer is refused", Behaviour::Refused),
];

const fn case(prefix: &'static str, what: &'static str, behaviour: Behaviour) -> Case {
    Case {
        prefix,
        what,
        behaviour,
    }
}

/// The case of a code, and the index of its shop.
pub(super) fn of(code: &str) -> Option<(&'static Case, usize)> {
    let case = CASES.iter().find(|case| code.starts_with(case.prefix))?;
    let shop: usize = code.get(4..6)?.parse().ok()?;
    Some((case, shop.checked_sub(1)?))
}
