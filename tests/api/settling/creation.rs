//! Faults at every call of creating a submission. After retries, messages and the sweep there is
//! one submission, and all counts match.

use std::collections::BTreeSet;
use std::time::Duration;

use common::config::Env;
use common::domain::campaign::Campaign;
use common::domain::settling::STEP_LEASE;
use common::runtime::http_handler::{ApiHandler, AppContext, Responder};
use common::telemetry::Telemetry;
use create_submission::CreateSubmission;
use local::partner::SimulatedPartner;
use local::stack::as_function;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::event;
use service_tests::http::Reply;
use service_tests::interceptor::{AWS, FaultKind, Interceptor};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of, receipts_alone};
use service_tests::service::Service;

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
    service: &Service,
    fault_injection: &Interceptor,
) -> ApiHandler<CreateSubmission> {
    let mut proxied = Vec::new();
    for variable in AWS {
        let upstream = service.env.required(variable).expect("the stack sets it");
        proxied.push((
            variable.to_owned(),
            fault_injection.in_front_of(&upstream).await,
        ));
    }
    let env = service
        .env
        .clone()
        .overridden_by(proxied.into_iter().collect::<Env>());
    let env = as_function(&env, "create-submission");
    let frame = Responder::from_env(&env, service.clock.clone(), Telemetry::Off)
        .expect("the stack sets it");
    let setup = AppContext::new(env, frame).expect("the stack sets every variable");
    ApiHandler::new(setup).expect("the stack sets every variable")
}

fn event(campaign: &TestCampaign, key: &str, body: &Value) -> Value {
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", key.to_owned()),
    ];
    event::of(
        "POST",
        "/api/v1/submissions",
        &headers,
        Some(body),
        &campaign.live_key,
    )
}

/// Retries as `Retry-After` says until it is answered.
async fn retried(campaign: &TestCampaign, key: &str, body: &Value) -> Reply {
    let sending = campaign
        .live("POST", "/api/v1/submissions")
        .header("idempotency-key", key)
        .json(body);
    loop {
        let reply = sending.clone().send().await;
        if reply.status == 200 {
            return reply;
        }
        assert_eq!(reply.status, 409, "{}", reply.text);
        let wait = reply
            .header("retry-after")
            .expect("a wait")
            .parse()
            .expect("seconds");
        campaign.service.clock.advance(Duration::from_secs(wait));
    }
}

/// Injects each kind of fault at every call of a case, and checks the outcomes. Prints and returns
/// the number of faults.
async fn cut_everywhere(case: Case) -> usize {
    let partner = simulated(|_| {}).await;
    let fault_injection = Interceptor::default();
    let partner_url = format!(
        "{}/redeem",
        fault_injection.in_front_of(&partner.base_url).await
    );
    let (campaign, settler) = set_up(|campaign| case.campaign(campaign, partner_url)).await;
    let mut number = 0;
    let mut ends = BTreeSet::new();
    for how in FaultKind::ALL {
        for call in 0.. {
            number += 1;
            let (key, body) = (fresh_key(), case.body(&campaign, number).await);
            let victim = cut_function(&campaign.service, &fault_injection).await;
            fault_injection.arm(call, how);
            let event = event(&campaign, &key, &body);
            tokio::select! {
                _ = event::answer(&victim, &event) => {}
                () = fault_injection.death() => {}
            }
            drop(victim);
            let was_cut = fault_injection.was_made();
            fault_injection.disarm();
            let context = format!("{case:?}, call {call} {how:?}");
            let reply = retried(&campaign, &key, &body).await;
            settle(&campaign, &settler).await;
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
    let fault_injection = usize::try_from(number).expect("small") - FaultKind::ALL.len();
    println!(
        "{:?} {}: {fault_injection} cut points",
        case.kind, case.letters
    );
    fault_injection
}

/// Delivers and sweeps past an interrupted step's lease and some retries.
async fn settle(campaign: &TestCampaign, settler: &Settler) {
    for wait in [
        Duration::ZERO,
        STEP_LEASE,
        Duration::from_secs(1),
        Duration::from_secs(30),
    ] {
        campaign.service.clock.advance(wait);
        settler.settle_due().await;
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
        .send()
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
    let scope = campaign.live_scope();
    let phone = phone(number).parse().expect("a phone");
    let entrant = campaign.service.entrant(&scope, &phone, "").await;
    assert_eq!(
        entrant.expect("an entrant").total,
        u32::from(counts),
        "{context}"
    );
    let submission_id = id.parse().expect("an id");
    let claims = campaign.service.holds(&scope).await;
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
        "{context}: nobody has a second code"
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
    let fault_injection = cut_everywhere(Case {
        kind: Kind::Code,
        letters: "",
        ends: &[ENTERED],
    })
    .await;
    assert!(fault_injection >= 3 * 4, "{fault_injection}");
}

#[tokio::test]
async fn a_receipt_is_entered_once_wherever_its_request_is_cut() {
    let fault_injection = cut_everywhere(Case {
        kind: Kind::Receipt,
        letters: "GOOD",
        ends: &[ENTERED],
    })
    .await;
    assert!(fault_injection >= 3 * 5, "{fault_injection}");
}

#[tokio::test]
async fn code_and_receipt_are_entered_once_wherever_they_are_cut() {
    let fault_injection = cut_everywhere(Case {
        kind: Kind::CodeAndReceipt,
        letters: "GOOD",
        ends: &[ENTERED],
    })
    .await;
    assert!(fault_injection >= 3 * 5, "{fault_injection}");
}

#[tokio::test]
async fn declined_receipt_frees_its_code_wherever_it_is_cut() {
    let ends = &[("rejected", "receipt_wrong_store")];
    let fault_injection = cut_everywhere(Case {
        kind: Kind::CodeAndReceipt,
        letters: "SHOP",
        ends,
    })
    .await;
    assert!(fault_injection >= 3 * 5, "{fault_injection}");
}

#[tokio::test]
async fn a_partners_code_is_redeemed_once_wherever_its_request_is_cut() {
    let fault_injection = cut_everywhere(Case {
        kind: Kind::Partner,
        letters: "OKAY",
        ends: &[ENTERED],
    })
    .await;
    assert!(fault_injection >= 3 * 6, "{fault_injection}");
}

#[tokio::test]
async fn partners_refusal_frees_the_code_wherever_it_is_cut() {
    let ends = &[("rejected", "invalid")];
    let fault_injection = cut_everywhere(Case {
        kind: Kind::Partner,
        letters: "BADC",
        ends,
    })
    .await;
    assert!(fault_injection >= 3 * 6, "{fault_injection}");
}

#[tokio::test]
async fn partner_with_two_answers_redeems_for_nobody_refused() {
    let ends = &[ENTERED, ("unknown", "checking")];
    let fault_injection = cut_everywhere(Case {
        kind: Kind::Partner,
        letters: "FLIP",
        ends,
    })
    .await;
    assert!(fault_injection >= 3 * 6, "{fault_injection}");
}
