//! The demo campaigns, as they are loaded, printed and shown on the try page.

use serde::Serialize;

use super::commands::{self, Caller, Command};
use crate::{partner, tax_portal};

#[derive(Clone, Copy, Serialize)]
pub(crate) struct Words {
    en: &'static str,
    sw: &'static str,
}

/// A code or receipt to click, and its outcome. `{n}` stands for digits that make it unique.
#[derive(Clone, Serialize)]
pub(crate) struct Sample<V = &'static str> {
    pub(crate) value: V,
    pub(crate) what: Words,
}

pub(crate) struct Samples {
    pub(crate) codes: &'static [Sample],
    pub(crate) receipts: &'static [Sample],
}

type Cases = fn() -> Vec<(&'static str, &'static str)>;

pub(crate) struct DemoCampaign {
    pub(crate) slug: &'static str,
    pub(crate) file: &'static str,
    pub(crate) prize: Option<&'static str>,
    pub(crate) what: Words,
    pub(crate) test: Samples,
    pub(crate) live: Samples,
    pub(super) commands: fn(&Caller<'_>) -> Vec<Command>,
    /// Reached by the live key.
    pub(super) simulator: Option<&'static str>,
    /// Other values that the simulator knows, with a heading.
    pub(super) cases: Option<(&'static str, Cases)>,
}

const NONE: Samples = Samples {
    codes: &[],
    receipts: &[],
};
const TEST_CODES: Samples = Samples {
    codes: &[
        sample("TEST-0-VALID.{n}", "enters", "inaingia"),
        sample("TEST-0-INSTANT-WIN.{n}", "wins a prize", "inashinda zawadi"),
        sample("TEST-0-INVALID.{n}", "is not a code", "si namba sahihi"),
        sample(
            "TEST-0-ALREADY-USED.{n}",
            "was used by another phone",
            "imeshatumika",
        ),
        sample(
            "TEST-0-SLOW.{n}",
            "is checked first, then enters",
            "inahakikiwa kwanza, kisha inaingia",
        ),
        sample(
            "TEST-0-CHECKING.{n}",
            "stays in checking",
            "inabaki katika uhakiki",
        ),
    ],
    receipts: &[],
};
const TEST_RECEIPTS: Samples = Samples {
    codes: &[],
    receipts: &[
        sample(
            "TEST0VERIFIED.{n}",
            "is found and enters",
            "inapatikana na inaingia",
        ),
        sample(
            "TEST0REVIEW.{n}",
            "waits for an operator",
            "inasubiri mtu aikague",
        ),
        sample(
            "TEST0WRONGSTORE.{n}",
            "is of a shop that takes no part",
            "ni ya duka lisiloshiriki",
        ),
        sample("TEST0UNREADABLE.{n}", "cannot be read", "haisomeki"),
        sample(
            "TEST0SLOW.{n}",
            "is checked first, then enters",
            "inahakikiwa kwanza, kisha inaingia",
        ),
    ],
};
const PARTNER_CODES: Samples = Samples {
    codes: &[
        sample("OKAY-{n}", "the partner accepts it", "mshirika anaikubali"),
        sample(
            "WINS-{n}",
            "the partner gives a prize",
            "mshirika anatoa zawadi",
        ),
        sample(
            "BADC-{n}",
            "the partner does not know it",
            "mshirika haitambui",
        ),
        sample(
            "USED-{n}",
            "the partner has seen it before",
            "mshirika ameshaiona",
        ),
        sample(
            "DOWN-{n}",
            "the partner is down at first",
            "mshirika hapatikani mwanzoni",
        ),
    ],
    receipts: &[],
};
const LIVE_RECEIPTS: Samples = Samples {
    codes: &[],
    receipts: &[
        sample("GOOD01{n}", "counts", "inakubalika"),
        sample(
            "MANY01{n}",
            "counts several times",
            "inahesabiwa mara kadhaa",
        ),
        sample("GENR01{n}", "names no product", "haitaji bidhaa yoyote"),
        sample(
            "SHOP01{n}",
            "is of another trader",
            "ni ya mfanyabiashara mwingine",
        ),
        sample("OLDD01{n}", "is 400 days old", "ina siku 400"),
        sample("LATE01{n}", "is found only later", "inapatikana baadaye tu"),
        sample("NONE01{n}", "is never found", "haipatikani kamwe"),
    ],
};
const TAX_AUTHORITY: Option<&str> = Some("the simulated tax authority is asked");

pub(crate) static CAMPAIGNS: [DemoCampaign; 6] = [
    DemoCampaign {
        slug: "chai-bora-2026",
        file: include_str!("../../demo/chai-bora-2026.yaml"),
        prize: None,
        what: words(
            "A code on every pack. Each phone may enter three times a day.",
            "Namba kwenye kila pakiti. Kila simu inaweza kushiriki mara tatu kwa siku.",
        ),
        test: TEST_CODES,
        live: NONE,
        commands: commands::codes,
        simulator: None,
        cases: None,
    },
    DemoCampaign {
        slug: "duka-kuu-2026",
        file: include_str!("../../demo/duka-kuu-2026.yaml"),
        prize: None,
        what: words(
            "A receipt alone, as a photo or typed in. Your operator looks at what a machine cannot decide.",
            "Risiti pekee, kwa picha au kwa kuandika. Mtu huangalia kile ambacho mashine haiwezi kuamua.",
        ),
        test: TEST_RECEIPTS,
        live: LIVE_RECEIPTS,
        commands: commands::receipt_alone,
        simulator: TAX_AUTHORITY,
        cases: Some((
            "Receipts of the simulated tax authority: these letters, 01 or 02 for the shop, any number:",
            || {
                tax_portal::cases::CASES
                    .iter()
                    .map(|case| (case.prefix, case.what))
                    .collect()
            },
        )),
    },
    DemoCampaign {
        slug: "risiti-na-namba-2026",
        file: include_str!("../../demo/risiti-na-namba-2026.yaml"),
        prize: None,
        what: words(
            "A code together with the receipt of its purchase.",
            "Namba pamoja na risiti ya ununuzi wake.",
        ),
        test: Samples {
            receipts: TEST_RECEIPTS.receipts,
            ..TEST_CODES
        },
        live: LIVE_RECEIPTS,
        commands: commands::receipt_and_code,
        simulator: TAX_AUTHORITY,
        cases: None,
    },
    DemoCampaign {
        slug: "bahati-2026",
        file: include_str!("../../demo/bahati-2026.yaml"),
        prize: None,
        what: words(
            "A partner of the brand judges the codes.",
            "Mshirika wa chapa ndiye anayehakiki namba.",
        ),
        test: TEST_CODES,
        live: PARTNER_CODES,
        commands: commands::partner,
        simulator: Some("the simulated partner is asked"),
        cases: Some((
            "Codes of the simulated partner: these letters, then anything, such as OKAY-0001:",
            || {
                partner::cases::CASES
                    .iter()
                    .map(|case| (case.prefix, case.what))
                    .collect()
            },
        )),
    },
    DemoCampaign {
        slug: "soda-rush-2026",
        file: include_str!("../../demo/soda-rush-2026.yaml"),
        prize: Some("A crate of soda"),
        what: words(
            "Some codes win a prize at once.",
            "Baadhi ya namba hushinda zawadi papo hapo.",
        ),
        test: TEST_CODES,
        live: NONE,
        commands: commands::prize,
        simulator: None,
        cases: None,
    },
    DemoCampaign {
        slug: "mango-2025",
        file: include_str!("../../demo/mango-2025.yaml"),
        prize: None,
        what: words("A campaign that is over.", "Kampeni iliyokwisha."),
        test: NONE,
        live: NONE,
        commands: commands::ended,
        simulator: None,
        cases: None,
    },
];

pub(crate) const fn words(en: &'static str, sw: &'static str) -> Words {
    Words { en, sw }
}

const fn sample(value: &'static str, en: &'static str, sw: &'static str) -> Sample {
    let what = words(en, sw);
    Sample { value, what }
}
