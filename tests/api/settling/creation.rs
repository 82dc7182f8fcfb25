//! Faults at every call of creating a submission. After retries, messages and the sweep there is
//! one submission, and all counts match.

use std::collections::BTreeSet;
use std::time::Duration;

use common::domain::campaign::Campaign;
use common::domain::scope::Environment;
use common::domain::settling::{Dependency, STEP_LEASE};
use common::runtime::http_handler::ApiHandler;
use create_submission::CreateSubmission;
use local::partner::SimulatedPartner;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::event;
use service_tests::http::Reply;
use service_tests::interceptor::{AWS, FaultKind, Interceptor};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of, receipts_alone};

use super::set_up;

/// A submission, and the outcomes that any fault may leave.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    /// Start of the code, which selects the simulators' behavior.
    letters: &'static str,
    ends: &'static [Ends],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    Receipt,
    CodeAndReceipt,
    Partner,
}

/// State and message key.
type Ends = (&'static str, &'static str);

const ENTERED: Ends = ("accepted", "entered");

impl Case {
    fn campaign(self, campaign: &mut Campaign, partner_url: String) {
        match self.kind {
            Kind::Code => {}
            Kind::Receipt => receipts_alone(campaign),
            Kind::CodeAndReceipt => code_and_receipt(campaign),
            Kind::Partner => judged_by(partner_url)(campaign),
        }
    }

    /// A body with a number's own phone, code and receipt.
    async fn body(self, campaign: &TestCampaign, number: u32) -> Value {
        let mut body = body(&phone(number), &campaign.code(u64::from(number)));
        match self.kind {
            Kind::Code => {}
            Kind::Receipt | Kind::CodeAndReceipt => {
                let receipt = format!("{}01{number:04}", self.letters);
                body["receipt_id"] =
                    json!(campaign.typed(&campaign.live_key, &receipt, TIME).await);
            }
            Kind::Partner => body["code"] = json!(format!("{}-{number}", self.letters)),
        }
        body
    }
}

/// The function with a proxy before everything it calls.
async fn cut_function(
    campaign: &TestCampaign,
    faults: &Interceptor,
) -> ApiHandler<CreateSubmission> {
    campaign.service.behind(faults, &AWS).await.endpoint()
}

/// Retries as `Retry-After` says until it is answered.
async fn retried(campaign: &TestCampaign, key: &str, body: &Value) -> Reply {
    let sending = campaign
        .live("POST", "/api/v1/submissions")
        .header("idempotency-key", key)
        .json(body);
    loop {
        let reply = sending.clone().await;
        if reply.status == 200 {
            return reply;
        }
        assert_eq!(reply.status, 409, "{}", reply.text);
        let wait = reply
            .header("retry-after")
            .expect("a wait")
            .parse()
            .expect("seconds");
        campaign.advance(Duration::from_secs(wait));
    }
}

/// Injects each kind of fault at every call of a case, and checks the outcomes. Prints and returns
/// the number of faults.
async fn cut_everywhere(kind: Kind, letters: &'static str, ends: &'static [Ends]) -> usize {
    let case = Case {
        kind,
        letters,
        ends,
    };
    let partner = simulated(|_| {}).await;
    let faults = Interceptor::default();
    let partner_url = faults.in_front_of(&partner.base_url).await + "/redeem";
    let (campaign, settler) = set_up(|campaign| case.campaign(campaign, partner_url)).await;
    let mut number = 0;
    let mut ends = BTreeSet::new();
    for how in FaultKind::ALL {
        for call in 0.. {
            number += 1;
            let (key, body) = (fresh_key(), case.body(&campaign, number).await);
            let victim = cut_function(&campaign, &faults).await;
            faults.arm(call, how);
            let event = event::posted("/api/v1/submissions", &body, &key, &campaign.live_key);
            faults.cut(event::answer(&victim, &event)).await;
            drop(victim);
            let was_cut = faults.was_made();
            faults.disarm();
            let context = format!("{case:?}, call {call} {how:?}");
            let reply = retried(&campaign, &key, &body).await;
            settle(&campaign, &settler, kind).await;
            ends.insert(check(&campaign, case, number, &reply, &partner, &context).await);
            if !was_cut {
                break;
            }
        }
    }
    assert_eq!(
        ends,
        case.ends.iter().copied().collect(),
        "each of the ends was seen"
    );
    let cuts = usize::try_from(number).expect("small") - FaultKind::ALL.len();
    println!("{:?} {}: {cuts} cut points", case.kind, case.letters);
    cuts
}

/// Delivers and sweeps past an interrupted step's lease and some retries.
async fn settle(campaign: &TestCampaign, settler: &Settler, kind: Kind) {
    let dependency = match kind {
        Kind::Partner => Dependency::Partner,
        Kind::Code | Kind::Receipt | Kind::CodeAndReceipt => Dependency::TaxAuthority,
    };
    for wait in [Duration::ZERO, STEP_LEASE, Duration::from_secs(30)] {
        campaign.advance(wait);
        settler.settle_due_with(dependency).await;
    }
}

/// Checks that the key has one submission with a possible outcome, and that counts, code and
/// redemptions match. Returns the outcome.
async fn check(
    campaign: &TestCampaign,
    case: Case,
    number: u32,
    reply: &Reply,
    partner: &SimulatedPartner,
    context: &str,
) -> Ends {
    let id = id_of(reply);
    let now = campaign.read(&campaign.live_key, &id).await;
    let (state, key) = (now.field("state"), now.field("message_key"));
    let end = case
        .ends
        .iter()
        .find(|(of_state, of_key)| state == *of_state && key == *of_key)
        .copied();
    let end = end.unwrap_or_else(|| panic!("{context}: {}", now.text));
    let lookup = campaign
        .live("POST", "/api/v1/submissions/lookup")
        .header(
            "svc-client-ip",
            format!("10.{}.{}.1", number / 200, number % 200),
        )
        .json(&json!({ "phone": phone(number) }))
        .await;
    let listed = lookup.field("submissions");
    assert_eq!(
        (listed.as_array().map(Vec::len), &listed[0]["id"]),
        (Some(1), &json!(id)),
        "{context}"
    );
    assert_eq!(
        lookup.field("total_entries"),
        now.field("entries"),
        "{context}"
    );

    let counts = end.0 != "rejected";
    let entrant = campaign.entrant(Environment::Live, number).await;
    assert_eq!(entrant.total, u32::from(counts), "{context}");

    let submission_id = id.parse().expect("an id");
    let claims = campaign.service.holds(&campaign.live_scope()).await;
    let mine = claims
        .iter()
        .find(|claim| claim.submission_id == submission_id);
    let takes_code = counts && case.kind != Kind::Receipt;
    assert_eq!(
        mine.map(|claim| claim.redeemed),
        takes_code.then_some(end == ENTERED),
        "{context}"
    );
    let owners: BTreeSet<_> = claims.iter().map(|claim| claim.entrant.as_str()).collect();
    assert_eq!(
        owners.len(),
        claims.len(),
        "{context}: no phone has a second code"
    );
    // The partner redeems once, for a submission that counts.
    let redeemed = case.kind == Kind::Partner && counts;
    assert_eq!(partner.redeemed(&id), u32::from(redeemed), "{context}");
    let redemptions = if redeemed {
        usize::try_from(number).expect("small")
    } else {
        0
    };
    assert_eq!(partner.redemptions().len(), redemptions, "{context}");
    end
}

#[tokio::test]
async fn a_service_code_is_entered_once_wherever_its_request_is_cut() {
    let cuts = cut_everywhere(Kind::Code, "", &[ENTERED]).await;
    assert!(cuts >= 3 * 4, "{cuts}");
}

#[tokio::test]
async fn a_receipt_is_entered_once_wherever_its_request_is_cut() {
    let cuts = cut_everywhere(Kind::Receipt, "GOOD", &[ENTERED]).await;
    assert!(cuts >= 3 * 5, "{cuts}");
}

#[tokio::test]
async fn code_and_receipt_are_entered_once_wherever_they_are_cut() {
    let cuts = cut_everywhere(Kind::CodeAndReceipt, "GOOD", &[ENTERED]).await;
    assert!(cuts >= 3 * 5, "{cuts}");
}

#[tokio::test]
async fn declined_receipt_frees_its_code_wherever_it_is_cut() {
    let ends = &[("rejected", "receipt_wrong_store")];
    let cuts = cut_everywhere(Kind::CodeAndReceipt, "SHOP", ends).await;
    assert!(cuts >= 3 * 5, "{cuts}");
}

#[tokio::test]
async fn a_partners_code_is_redeemed_once_wherever_its_request_is_cut() {
    let cuts = cut_everywhere(Kind::Partner, "OKAY", &[ENTERED]).await;
    assert!(cuts >= 3 * 6, "{cuts}");
}

#[tokio::test]
async fn partners_refusal_frees_the_code_wherever_it_is_cut() {
    let cuts = cut_everywhere(Kind::Partner, "BADC", &[("rejected", "invalid")]).await;
    assert!(cuts >= 3 * 6, "{cuts}");
}

#[tokio::test]
async fn partner_with_two_answers_redeems_for_nobody_refused() {
    let ends = &[ENTERED, ("unknown", "checking")];
    let cuts = cut_everywhere(Kind::Partner, "FLIP", ends).await;
    assert!(cuts >= 3 * 6, "{cuts}");
}
