use common::domain::{CampaignSlug, Environment, Language};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::demo::Demo;
use crate::demo::campaigns::{DEMO, Sample, Samples, Words};
use crate::tax_portal::cases::TIME;

#[derive(Serialize)]
pub(super) struct Guide<'a> {
    campaigns: Vec<CampaignGuide<'a>>,
    receipt_time: &'static str,
    language: Language,
    first: Option<First<'a>>,
}

#[derive(Serialize)]
pub(super) struct First<'a> {
    pub(super) slug: &'a CampaignSlug,
    pub(super) environment: Environment,
    pub(super) campaign: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct CampaignGuide<'a> {
    slug: &'a str,
    name: &'a str,
    what: &'static Words,
    environments: Vec<EnvironmentGuide>,
}

#[derive(Serialize)]
struct EnvironmentGuide {
    name: &'static str,
    codes: Vec<Sample>,
    receipts: &'static [Sample],
}

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
            .filter_map(|demo| campaign(demo, takes_live_keys))
            .collect();
        Self {
            campaigns,
            receipt_time: TIME,
            language,
            first,
        }
    }
}

fn campaign(demo: &Demo, takes_live_keys: bool) -> Option<CampaignGuide<'_>> {
    let campaign = demo.campaign()?;
    let mut environments = vec![environment(demo, Environment::Test, &campaign.test)];
    if takes_live_keys {
        environments.push(environment(demo, Environment::Live, &campaign.live));
    }
    Some(CampaignGuide {
        slug: &campaign.slug,
        name: demo.name(),
        what: &campaign.what,
        environments,
    })
}

fn environment(
    demo: &Demo,
    environment: Environment,
    samples: &'static Samples,
) -> EnvironmentGuide {
    let access = demo.access(environment);
    let minted = [
        (&access.codes, &DEMO.minted),
        (&access.prize_codes, &DEMO.with_prize),
    ];
    let minted = minted.into_iter().flat_map(|(codes, what)| {
        let shown = codes.iter().take(MAX_MINTED);
        shown.map(move |code| Sample {
            value: code.clone(),
            what: what.clone(),
        })
    });
    EnvironmentGuide {
        name: environment.as_str(),
        codes: samples.codes.iter().cloned().chain(minted).collect(),
        receipts: &samples.receipts,
    }
}
