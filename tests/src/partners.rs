//! Campaigns whose codes a simulated partner decides.

use std::collections::BTreeMap;

use common::domain::campaign::{Campaign, CodePolicy};
use common::domain::code::CodeForm;
use common::domain::message::MessageKey;
use common::domain::partner::pointer::{Pointer, ReplyPointers};
use common::domain::partner::template::Template;
use common::domain::partner::{Method, PartnerRules, PartnerSecret};
use local::partner::{PartnerOptions, SimulatedPartner};
use local::stack::{PARTNER_SECRET, PARTNER_SECRET_HEADER};
use serde_json::json;

/// Requires the secret that every stack has.
pub async fn simulated(change: impl FnOnce(&mut PartnerOptions)) -> SimulatedPartner {
    let mut options = PartnerOptions {
        secret: Some((
            PARTNER_SECRET_HEADER.to_owned(),
            PARTNER_SECRET.1.to_owned(),
        )),
        ..PartnerOptions::default()
    };
    change(&mut options);
    SimulatedPartner::serve(options).await.expect("it serves")
}

/// Lets this partner decide the campaign's codes.
pub fn judged_by(url: String) -> impl FnOnce(&mut Campaign) {
    |campaign| {
        campaign.code = CodePolicy::Partner;
        campaign.partner = Some(rules(url));
    }
}

pub fn rules(url: String) -> PartnerRules {
    let pointer = |text: &str| Pointer::try_from(text.to_owned()).expect("a pointer");
    let outcomes = [
        ("0", MessageKey::Entered),
        ("1", MessageKey::InstantWin),
        ("20", MessageKey::Invalid),
        ("21", MessageKey::AlreadyUsed),
        ("22", MessageKey::DailyLimit),
        ("23", MessageKey::Blocked),
    ];
    PartnerRules {
        url,
        method: Method::Post,
        headers: BTreeMap::new(),
        secret: Some(PartnerSecret {
            header: PARTNER_SECRET_HEADER.to_owned(),
            name: PARTNER_SECRET.0.to_owned(),
        }),
        timeout_seconds: 8,
        max_in_flight: PartnerRules::DEFAULT_MAX_IN_FLIGHT,
        code: CodeForm::Folded,
        body: Some(
            Template::try_from(json!({
                "reference": "{{reference}}", "code": "{{code}}", "phone": "{{phone}}",
            }))
            .expect("a template"),
        ),
        reply: ReplyPointers {
            code: pointer("/status"),
            message: Some(pointer("/text")),
            entries: Some(pointer("/entries")),
            prize: Some(pointer("/prize")),
        },
        outcomes: outcomes.map(|(code, key)| (code.to_owned(), key)).into(),
    }
}
