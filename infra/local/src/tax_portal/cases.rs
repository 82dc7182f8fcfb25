use chrono::{Days, NaiveDateTime};

use self::Behavior::*;
use self::Paper::*;
use crate::simulator::{Case, case, find};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    Found(Paper),
    /// Found after `FIRST` look-ups, like `Busy` and `Down`; for `Swapped`, `SWAPPED_FIRST`.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    Wanted,
    Many,
    Generic,
    Unwanted,
    Cancelled,
    Training,
    LongAgo,
    Future,
    OtherShop,
    OtherDevice,
    OlderPage,
}

pub(super) const FIRST: u32 = 2;
pub(super) const SWAPPED_FIRST: u32 = 1;
pub(super) const LONG_AGO: Days = Days::new(400);
pub const TIME: &str = "10:15:30";

/// A running number that is a time, such as `GOOD01261117090507`.
pub(crate) const PURCHASED: &str = "%y%m%d%H%M%S";

/// A code is the prefix, the shop's two digits, then any running number: `GOOD010001` is a receipt of the first shop. A
/// running number of twelve digits is the purchase's day and time; other receipts are of today, at [`TIME`].
/// Other prefixes and unknown shops are never found.
pub const CASES: &[Case<Behavior>] = &[
    case(
        "GOOD",
        "found, with a product that takes part",
        Found(Wanted),
    ),
    case(
        "MANY",
        "found, with several of them; one quantity is decimal",
        Found(Many),
    ),
    case("GENR", "found, but it names no product", Found(Generic)),
    case(
        "NOIT",
        "found, but none of its products takes part",
        Found(Unwanted),
    ),
    case("VOID", "found, but cancelled", Found(Cancelled)),
    case(
        "TRAI",
        "found, but of a device in training",
        Found(Training),
    ),
    case("OLDD", "found, dated 400 days ago", Found(LongAgo)),
    case("FUTR", "found, dated the day after tomorrow", Found(Future)),
    case(
        "SHOP",
        "found, of a trader that does not take part",
        Found(OtherShop),
    ),
    case(
        "SERI",
        "found, of the trader's, but of an unknown device",
        Found(OtherDevice),
    ),
    case(
        "OLDP",
        "found, on a page of the older layout",
        Found(OlderPage),
    ),
    case(
        "TIME",
        "found; another time is answered in place",
        Found(Wanted),
    ),
    case("LATE", "missing for the first 2 look-ups, then found", Late),
    case("NONE", "always missing", Missing),
    case(
        "BUSY",
        "throttled for the first 2 look-ups, then found",
        Busy,
    ),
    case("DOWN", "503 for the first 2 look-ups, then found", Down),
    case("DEAD", "always 503", Dead),
    case("HANG", "answers nothing for long", Hanging),
    case(
        "SWAP",
        "the page of another receipt at first, then found",
        Swapped,
    ),
    case("SWAX", "always the page of another receipt", AlwaysSwapped),
    case("HTML", "a page of another layout", OtherLayout),
    case("EMPT", "an empty page", Empty),
    case("HUGE", "a page of 100 MB", Huge),
    case("LOOP", "redirects without end", Loop),
    case("AWAY", "a redirect to another host", Away),
    case("INDX", "the Referer is refused", Refused),
];

pub(super) fn case_and_shop(code: &str) -> Option<(&'static Case<Behavior>, usize)> {
    let case = find(CASES, code)?;
    let shop: usize = code.get(4..6)?.parse().ok()?;
    Some((case, shop.checked_sub(1)?))
}

pub(super) fn purchased_at(code: &str) -> Option<NaiveDateTime> {
    let number = code.get(6..).filter(|number| number.len() == 12)?;
    NaiveDateTime::parse_from_str(number, PURCHASED).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_can_have_the_time_of_its_purchase() {
        let at = purchased_at("GOOD01261117090507").map(|at| at.to_string());
        assert_eq!(at.as_deref(), Some("2026-11-17 09:05:07"));
        assert_eq!(purchased_at("GOOD010001"), None);
        assert_eq!(purchased_at("GOOD01999999999999"), None);
    }
}
