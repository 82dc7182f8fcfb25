use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::simulator::Case;
use crate::{partner, tax_portal};

/// The file `demo/campaigns.yaml`.
#[derive(Deserialize)]
pub(crate) struct DemoList {
    pub(super) parts: Vec<(String, String)>,
    pub(super) first_entry: String,
    pub(crate) minted: Words,
    pub(crate) with_prize: Words,
    pub(crate) campaigns: Vec<DemoCampaign>,
}

#[derive(Deserialize)]
pub(crate) struct DemoCampaign {
    pub(crate) slug: String,
    pub(crate) prize: Option<String>,
    pub(crate) what: Words,
    pub(crate) test: Samples,
    #[serde(default)]
    pub(crate) live: Samples,
    pub(super) simulator: Option<Simulator>,
    /// True if other values that the simulator knows are listed here.
    #[serde(default)]
    pub(super) lists_cases: bool,
}

#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Words {
    en: String,
    sw: String,
}

/// One environment's, apart from minted codes.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Samples {
    pub(crate) codes: Vec<Sample>,
    pub(crate) receipts: Vec<Sample>,
    /// Commands to paste, each with its result.
    pub(super) commands: Vec<(String, String)>,
}

#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Sample {
    pub(crate) value: String,
    pub(crate) what: Words,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Simulator {
    TaxAuthority,
    Partner,
}

macro_rules! files {
    ($($slug:literal)*) => {
        [$(($slug, include_str!(concat!("../../demo/", $slug, ".yaml")))),*]
    };
}

const FILES: [(&str, &str); 6] = files![
    "chai-bora-2026" "duka-kuu-2026" "risiti-na-namba-2026" "bahati-2026" "soda-rush-2026" "mango-2025"
];

#[expect(clippy::expect_used, reason = "the file is a part of the program")]
pub(crate) static DEMO: LazyLock<DemoList> = LazyLock::new(|| {
    let list = serde_saphyr::from_str(include_str!("../../demo/campaigns.yaml"));
    list.expect("campaigns.yaml has the form of a `DemoList`")
});

impl DemoCampaign {
    pub(super) fn file(&self) -> &'static str {
        let file = FILES.iter().find(|(slug, _)| *slug == self.slug);
        file.map_or("", |(_, text)| text)
    }
}

impl Simulator {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TaxAuthority => "the simulated tax authority",
            Self::Partner => "the simulated partner",
        }
    }

    pub(super) fn cases(self) -> String {
        let (heading, cases) = match self {
            Self::TaxAuthority => (
                "Receipts of the simulated tax authority: these letters, 01 or 02 for the shop, any number:",
                lines(tax_portal::cases::CASES),
            ),
            Self::Partner => (
                "Codes of the simulated partner: these letters, then anything, such as OKAY-0001:",
                lines(partner::cases::CASES),
            ),
        };
        format!("\n  {heading}\n{cases}")
    }
}

fn lines<B>(cases: &[Case<B>]) -> String {
    let line = |case: &Case<B>| format!("    {}  {}\n", case.prefix, case.what);
    cases.iter().map(line).collect()
}
