//! The guide to the demo campaigns: each in a sentence, with codes and receipts to click and their outcomes. In a
//! sample, `{n}` stands for digits that make it unique each time.

use common::domain::message::Language;
use common::domain::scope::{CampaignSlug, Environment};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::demo::Demo;
use crate::tax_portal::cases::TIME;

/// The same text in both languages.
#[derive(Clone, Copy, Serialize)]
struct Words {
    en: &'static str,
    sw: &'static str,
}

/// Everything that the page begins with.
#[derive(Serialize)]
pub(super) struct Guide<'a> {
    campaigns: Vec<CampaignGuide<'a>>,
    /// The time on every sample receipt.
    receipt_time: &'static str,
    language: Language,
    first: Option<First<'a>>,
}

/// The campaign that the page shows first.
#[derive(Serialize)]
pub(super) struct First<'a> {
    pub(super) slug: &'a CampaignSlug,
    pub(super) environment: Environment,
    /// The API's reply; `None` if the page has to ask for it.
    pub(super) campaign: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct CampaignGuide<'a> {
    slug: &'a str,
    name: &'a str,
    what: Words,
    environments: Vec<EnvironmentGuide>,
}

#[derive(Serialize)]
struct EnvironmentGuide {
    name: &'static str,
    codes: Vec<Sample>,
    receipts: Vec<Sample>,
}

#[derive(Serialize)]
struct Sample {
    value: String,
    what: Words,
}

/// A sample that does not depend on minted codes.
type Fixed = (&'static str, &'static str, &'static str);

/// Samples of one environment: codes, then receipts.
struct Samples {
    codes: &'static [Fixed],
    receipts: &'static [Fixed],
}

const NONE: Samples = Samples {
    codes: &[],
    receipts: &[],
};

const TEST_CODES: &[Fixed] = &[
    ("TEST-0-VALID.{n}", "enters", "inaingia"),
    ("TEST-0-INSTANT-WIN.{n}", "wins a prize", "inashinda zawadi"),
    ("TEST-0-INVALID.{n}", "is not a code", "si namba sahihi"),
    (
        "TEST-0-ALREADY-USED.{n}",
        "was used by another phone",
        "imeshatumika",
    ),
    (
        "TEST-0-SLOW.{n}",
        "is checked first, then enters",
        "inahakikiwa kwanza, kisha inaingia",
    ),
    (
        "TEST-0-CHECKING.{n}",
        "stays in checking",
        "inabaki katika uhakiki",
    ),
];

const TEST_RECEIPTS: &[Fixed] = &[
    (
        "TEST0VERIFIED.{n}",
        "is found and enters",
        "inapatikana na inaingia",
    ),
    (
        "TEST0REVIEW.{n}",
        "waits for an operator",
        "inasubiri mtu aikague",
    ),
    (
        "TEST0WRONGSTORE.{n}",
        "is of a shop that takes no part",
        "ni ya duka lisiloshiriki",
    ),
    ("TEST0UNREADABLE.{n}", "cannot be read", "haisomeki"),
    (
        "TEST0SLOW.{n}",
        "is checked first, then enters",
        "inahakikiwa kwanza, kisha inaingia",
    ),
];

const PARTNER_CODES: &[Fixed] = &[
    ("OKAY-{n}", "the partner accepts it", "mshirika anaikubali"),
    (
        "WINS-{n}",
        "the partner gives a prize",
        "mshirika anatoa zawadi",
    ),
    (
        "BADC-{n}",
        "the partner does not know it",
        "mshirika haitambui",
    ),
    (
        "USED-{n}",
        "the partner has seen it before",
        "mshirika ameshaiona",
    ),
    (
        "DOWN-{n}",
        "the partner is down at first",
        "mshirika hapatikani mwanzoni",
    ),
];

const LIVE_RECEIPTS: &[Fixed] = &[
    ("GOOD01{n}", "counts", "inakubalika"),
    (
        "MANY01{n}",
        "counts several times",
        "inahesabiwa mara kadhaa",
    ),
    ("GENR01{n}", "names no product", "haitaji bidhaa yoyote"),
    (
        "SHOP01{n}",
        "is of another trader",
        "ni ya mfanyabiashara mwingine",
    ),
    ("OLDD01{n}", "is 400 days old", "ina siku 400"),
    ("LATE01{n}", "is found only later", "inapatikana baadaye tu"),
    ("NONE01{n}", "is never found", "haipatikani kamwe"),
];

/// Captions for a minted code, and for one with a prize.
const MINTED: Words = Words {
    en: "a code of a pack",
    sw: "namba ya pakiti",
};
const WITH_PRIZE: Words = Words {
    en: "a code with a prize",
    sw: "namba yenye zawadi",
};

/// Minted codes shown of each kind.
const MAX_MINTED: usize = 3;

impl<'a> Guide<'a> {
    pub(super) fn new(
        demos: &'a [Demo],
        takes_live_keys: bool,
        language: Language,
        first: Option<First<'a>>,
    ) -> Self {
        let campaigns = demos
            .iter()
            .map(|demo| campaign(demo, takes_live_keys))
            .collect();
        Self {
            campaigns,
            receipt_time: TIME,
            language,
            first,
        }
    }
}

fn campaign(demo: &Demo, takes_live_keys: bool) -> CampaignGuide<'_> {
    let (what, test, live) = samples(demo.slug().as_str());
    let mut environments = vec![environment(demo, Environment::Test, &test)];
    if takes_live_keys {
        environments.push(environment(demo, Environment::Live, &live));
    }
    CampaignGuide {
        slug: demo.slug().as_str(),
        name: demo.name(),
        what,
        environments,
    }
}

fn environment(demo: &Demo, environment: Environment, samples: &Samples) -> EnvironmentGuide {
    let minted = |codes: &[String], what: Words| {
        let shown = codes.iter().take(MAX_MINTED).cloned();
        shown
            .map(|value| Sample { value, what })
            .collect::<Vec<_>>()
    };
    let fixed = |fixed: &[Fixed]| {
        let sample = |&(value, en, sw): &Fixed| Sample {
            value: value.to_owned(),
            what: Words { en, sw },
        };
        fixed.iter().map(sample).collect::<Vec<_>>()
    };
    let mut codes = fixed(samples.codes);
    codes.extend(minted(demo.codes(environment), MINTED));
    codes.extend(minted(demo.prize_codes(environment), WITH_PRIZE));
    EnvironmentGuide {
        name: environment.as_str(),
        codes,
        receipts: fixed(samples.receipts),
    }
}

/// A campaign's description, and its samples for the test key and the live key.
fn samples(slug: &str) -> (Words, Samples, Samples) {
    let test_codes = Samples {
        codes: TEST_CODES,
        receipts: &[],
    };
    match slug {
        "chai-bora-2026" => (
            Words {
                en: "A code on every pack. Each phone may enter three times a day.",
                sw: "Namba kwenye kila pakiti. Kila simu inaweza kushiriki mara tatu kwa siku.",
            },
            test_codes,
            NONE,
        ),
        "duka-kuu-2026" => (
            Words {
                en: "A receipt alone, as a photo or typed in. Your operator looks at what a machine cannot decide.",
                sw: "Risiti pekee, kwa picha au kwa kuandika. Mtu huangalia kile ambacho mashine haiwezi kuamua.",
            },
            Samples {
                codes: &[],
                receipts: TEST_RECEIPTS,
            },
            Samples {
                codes: &[],
                receipts: LIVE_RECEIPTS,
            },
        ),
        "risiti-na-namba-2026" => (
            Words {
                en: "A code together with the receipt of its purchase.",
                sw: "Namba pamoja na risiti ya ununuzi wake.",
            },
            Samples {
                codes: TEST_CODES,
                receipts: TEST_RECEIPTS,
            },
            Samples {
                codes: &[],
                receipts: LIVE_RECEIPTS,
            },
        ),
        "bahati-2026" => (
            Words {
                en: "A partner of the brand judges the codes.",
                sw: "Mshirika wa chapa ndiye anayehakiki namba.",
            },
            test_codes,
            Samples {
                codes: PARTNER_CODES,
                receipts: &[],
            },
        ),
        "soda-rush-2026" => (
            Words {
                en: "Some codes win a prize at once.",
                sw: "Baadhi ya namba hushinda zawadi papo hapo.",
            },
            test_codes,
            NONE,
        ),
        _ => (
            Words {
                en: "A campaign that is over.",
                sw: "Kampeni iliyokwisha.",
            },
            NONE,
            NONE,
        ),
    }
}
