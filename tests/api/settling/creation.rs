//! Creating a submission cut at every call that it makes, in every way: after the client's retries, the
//! messages and the sweep, there is one submission, and everything adds up.

use std::time::Duration;

use common::config::Env;
use common::domain::campaign::Campaign;
use common::domain::scope::Environment;
use common::domain::settling::LONGEST_STEP;
use common::http::event::{HttpContext, HttpEvent, RequestContext};
use common::http::function::{Frame, Function, HttpFunction, Setup};
use common::store::codes::CodeName;
use common::telemetry::Telemetry;
use create_submission::CreateSubmission;
use local::partner::{Options, SimulatedPartner};
use local::stack::{PARTNER_SECRET, PARTNER_SECRET_HEADER};
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::cuts::{Cuts, How};
use service_tests::http::Reply;
use service_tests::partners::judged_by;
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of};
use service_tests::service::Service;

use super::scene;

/// What is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    CodeAndReceipt,
    Partner,
}

impl Kind {
    fn campaign(self, campaign: &mut Campaign, partner_url: String) {
        match self {
            Self::Code => {}
            Self::CodeAndReceipt => code_and_receipt(campaign),
            Self::Partner => judged_by(partner_url)(campaign),
        }
    }

    /// The body of the submission of this number, each with a phone, a code and a receipt of its own.
    async fn body(self, campaign: &TestCampaign, number: u32) -> Value {
        let mut body = body(&phone(number), &campaign.code(u64::from(number)));
        match self {
            Self::Code => {}
            Self::CodeAndReceipt => {
                let receipt = format!("GOOD01{number:04}");
                body["receipt_id"] = json!(campaign.typed(&campaign.live_key, &receipt, TIME).await);
            }
            Self::Partner => body["code"] = json!(format!("OKAY-{number}")),
        }
        body
    }
}

/// The function with every call of it going through the cuts.
async fn cut_function(service: &Service, cuts: &Cuts) -> Function<CreateSubmission> {
    let mut proxied = Vec::new();
    for variable in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SQS"] {
        let upstream = service.env.required(variable).expect("the stack sets it");
        proxied.push((variable.to_owned(), cuts.in_front_of(&upstream).await));
    }
    let env = service.env.clone().overridden_by(proxied.into_iter().collect::<Env>());
    let frame = Frame::from_env(&env, service.clock.clone(), Telemetry::Off).expect("the stack sets it");
    let setup = Setup::new(env, frame).expect("the stack sets every variable");
    Function::new(setup).expect("the stack sets every variable")
}

fn event(campaign: &TestCampaign, key: &str, body: &Value) -> HttpEvent {
    let headers = [
        ("authorization", format!("Bearer {}", campaign.live_key)),
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", key.to_owned()),
    ];
    let http = HttpContext {
        method: "POST".to_owned(),
        path: "/api/v1/submissions".to_owned(),
        ..HttpContext::default()
    };
    HttpEvent {
        raw_path: "/api/v1/submissions".to_owned(),
        headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        request_context: RequestContext { http },
        body: Some(body.to_string()),
        ..HttpEvent::default()
    }
}

/// The client sends the same request until it is answered, as it is told to.
async fn retried(campaign: &TestCampaign, key: &str, body: &Value) -> Reply {
    let sending = campaign.live("POST", "/api/v1/submissions").header("idempotency-key", key).json(body);
    loop {
        let reply = sending.clone().send().await;
        if reply.status == 200 {
            return reply;
        }
        assert_eq!(reply.status, 409, "{}", reply.text);
        let wait = reply.header("retry-after").expect("a wait").parse().expect("seconds");
        campaign.service.clock.advance(Duration::from_secs(wait));
    }
}

async fn cut_everywhere(kind: Kind) -> usize {
    let secret = Some((PARTNER_SECRET_HEADER.to_owned(), PARTNER_SECRET.1.to_owned()));
    let partner = SimulatedPartner::serve(Options { secret, ..Options::default() }).await.expect("it serves");
    let cuts = Cuts::at(0, How::DiesBefore);
    cuts.disarm();
    let partner_url = format!("{}/redeem", cuts.in_front_of(&partner.base_url).await);
    let (campaign, settler) = scene(|campaign| kind.campaign(campaign, partner_url)).await;
    let mut number = 0;
    for how in How::ALL {
        for call in 0.. {
            number += 1;
            let (key, body) = (fresh_key(), kind.body(&campaign, number).await);
            let victim = cut_function(&campaign.service, &cuts).await;
            cuts.arm(call, how);
            tokio::select! {
                _ = victim.answer(event(&campaign, &key, &body)) => {}
                () = cuts.death() => {}
            }
            drop(victim);
            let was_cut = cuts.was_made();
            cuts.disarm();
            let context = format!("{kind:?}, call {call} {how:?}");
            let reply = retried(&campaign, &key, &body).await;
            settle(&campaign, &settler).await;
            check(&campaign, kind, number, &reply, &partner, &context).await;
            if !was_cut {
                break;
            }
        }
    }
    usize::try_from(number).expect("small") - How::ALL.len()
}

/// The messages and the sweep, for as long as a lost step and some retries take.
async fn settle(campaign: &TestCampaign, settler: &Settler) {
    for wait in [Duration::ZERO, LONGEST_STEP, Duration::from_secs(1), Duration::from_secs(30)] {
        campaign.service.clock.advance(wait);
        settler.settle_due().await;
    }
}

/// One submission for the key, accepted; its phone's counts, its code and the partner's redemptions are of
/// this one.
async fn check(
    campaign: &TestCampaign,
    kind: Kind,
    number: u32,
    reply: &Reply,
    partner: &SimulatedPartner,
    context: &str,
) {
    let id = id_of(reply);
    let now = campaign.read(&campaign.live_key, &id).await;
    assert_eq!(now.field("state"), "accepted", "{context}: {}", now.text);
    let lookup = campaign
        .live("POST", "/api/v1/submissions/lookup")
        .header("svc-client-ip", format!("10.{}.{}.1", number / 200, number % 200))
        .json(&json!({ "phone": phone(number) }))
        .send()
        .await;
    let listed = lookup.field("submissions");
    assert_eq!((listed.as_array().map(Vec::len), &listed[0]["id"]), (Some(1), &json!(id)), "{context}");
    assert_eq!(lookup.field("total_entries"), now.field("entries"), "{context}");
    let scope = campaign.scope(Environment::Live);
    let phone = phone(number).parse().expect("a phone");
    let entrant = campaign.service.tables.entrants.get(&scope, &phone, "").await;
    assert_eq!(entrant.expect("an entrant").total, 1, "{context}");
    if kind == Kind::Partner {
        assert_eq!(partner.redeemed(&id), 1, "{context}");
        assert_eq!(partner.redemptions().len(), usize::try_from(number).expect("small"), "{context}");
    } else {
        let name = CodeName::Minted(u64::from(number));
        let record = campaign.service.tables.codes.get(&scope, &name).await.expect("a record");
        let claim = record.and_then(|record| record.claim).expect("a claim");
        assert_eq!((claim.redeemed, claim.submission_id.to_string()), (true, id), "{context}");
    }
}

#[tokio::test]
async fn a_service_code_is_entered_once_wherever_its_request_is_cut() {
    let cuts = cut_everywhere(Kind::Code).await;
    println!("service code: {cuts} cut points");
    assert!(cuts >= 3 * 4, "{cuts}");
}

#[tokio::test]
async fn code_and_receipt_are_entered_once_wherever_their_request_is_cut() {
    let cuts = cut_everywhere(Kind::CodeAndReceipt).await;
    println!("code and receipt: {cuts} cut points");
    assert!(cuts >= 3 * 5, "{cuts}");
}

#[tokio::test]
async fn a_partners_code_is_redeemed_once_wherever_its_request_is_cut() {
    let cuts = cut_everywhere(Kind::Partner).await;
    println!("partner: {cuts} cut points");
    assert!(cuts >= 3 * 6, "{cuts}");
}
