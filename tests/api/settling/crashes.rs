//! Faults at every call of settling functions: the submission ends the same, exactly once.

use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use common::config::Env;
use common::domain::campaign::Campaign;
use common::domain::phone::Phone;
use common::domain::settling::{Dependency, STEP_LEASE};
use receipt_photo::{Look, jpeg, qr_photo};
use serde_json::json;
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::http::Reply;
use service_tests::interceptor::{AWS, FaultKind, Interceptor};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of, receipts_alone};
use service_tests::service::{Service, entrant_id};

use super::{SPEEDUP, set_up, status, submit_typed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Typed,
    Photo,
    CodeAndReceipt,
    Partner,
}

impl Kind {
    fn campaign(self, campaign: &mut Campaign, partner_url: String) {
        match self {
            Self::Typed | Self::Photo => receipts_alone(campaign),
            Self::CodeAndReceipt => code_and_receipt(campaign),
            Self::Partner => judged_by(partner_url)(campaign),
        }
    }

    fn dependency(self) -> Dependency {
        match self {
            Self::Typed | Self::Photo | Self::CodeAndReceipt => Dependency::TaxAuthority,
            Self::Partner => Dependency::Partner,
        }
    }

    /// Submits with a number's own phone, code and receipt.
    async fn submit(self, campaign: &TestCampaign, number: u32, case: &str) -> Reply {
        let receipt = format!("{case}01{number:04}");
        match self {
            Self::Typed => submit_typed(campaign, &phone(number), "", &receipt, TIME).await,
            Self::CodeAndReceipt => {
                let code = campaign.code(u64::from(number));
                submit_typed(campaign, &phone(number), &code, &receipt, TIME).await
            }
            Self::Photo => {
                let payload = format!("https://verify.tra.go.tz/{receipt}_101530");
                let photo = qr_photo(&[&payload], &Look::default(), 1).expect("a photo");
                let photo = jpeg(&photo, 80).expect("a file");
                let receipt = campaign.photo(&campaign.live_key, &photo, None).await;
                campaign
                    .with_receipt(&campaign.live_key, &phone(number), "", &receipt)
                    .send()
                    .await
            }
            Self::Partner => {
                let sending = campaign.live("POST", "/api/v1/submissions");
                let body = body(&phone(number), &format!("{case}-{number}"));
                sending
                    .header("idempotency-key", fresh_key())
                    .json(&body)
                    .send()
                    .await
            }
        }
    }
}

const TAX_AUTHORITY: &str = "TAX_AUTHORITY_URL";

/// A settler with a proxy before everything it calls.
async fn cut_settler(service: &Service, fault_injection: &Interceptor) -> Settler {
    cut_settler_at(
        service,
        fault_injection,
        AWS.into_iter().chain([TAX_AUTHORITY]),
    )
    .await
}

/// A settler with a proxy before these variables' services.
async fn cut_settler_at(
    service: &Service,
    fault_injection: &Interceptor,
    variables: impl IntoIterator<Item = &'static str>,
) -> Settler {
    let mut env: Vec<(String, String)> = Vec::new();
    for variable in variables {
        let upstream = service.env.required(variable).expect("the stack sets it");
        env.push((
            variable.to_owned(),
            fault_injection.in_front_of(&upstream).await,
        ));
    }
    let env = service
        .env
        .clone()
        .overridden_by(env.into_iter().collect::<Env>());
    Settler::new(&service.with_env(env))
}

fn message_about(campaign: &TestCampaign, submitted: &Reply) -> SettleMessage {
    let submission_id = id_of(submitted).parse().expect("an id");
    SettleMessage {
        scope: campaign.live_scope(),
        submission_id,
    }
}

/// Injects each kind of fault at every call of settling, and checks the end. Returns the number of
/// calls.
async fn cut_everywhere(kind: Kind, case: &str, expected: serde_json::Value) -> usize {
    let partner = simulated(|_| {}).await;
    let fault_injection = Interceptor::default();
    let partner_url = format!(
        "{}/redeem",
        fault_injection.in_front_of(&partner.base_url).await
    );
    let (campaign, settler) = set_up(|campaign| kind.campaign(campaign, partner_url)).await;
    let mut number = 0;
    for how in FaultKind::ALL {
        for call in 0.. {
            number += 1;
            let submitted = kind.submit(&campaign, number, case).await;
            let message = message_about(&campaign, &submitted);
            let victim = cut_settler(&campaign.service, &fault_injection).await;
            // If a partner left it open, it is due some seconds later.
            campaign
                .service
                .clock
                .advance(Duration::from_secs(10) / SPEEDUP);
            fault_injection.arm(call, how);
            tokio::select! {
                _ = victim.deliver_to(kind.dependency(), &message) => {}
                () = fault_injection.death() => {}
            }
            drop(victim);
            let was_cut = fault_injection.was_made();
            fault_injection.disarm();
            // The message comes again, twice at once, before and after the interrupted step's lease
            // expires.
            for wait in [
                Duration::ZERO,
                STEP_LEASE,
                Duration::from_secs(1),
                Duration::from_secs(5),
            ] {
                campaign.service.clock.advance(wait);
                let deliver = || settler.deliver_to(kind.dependency(), &message);
                let (one, other) = tokio::join!(deliver(), deliver());
                assert_eq!(
                    (one.batch_item_failures, other.batch_item_failures),
                    (vec![], vec![])
                );
            }
            let context = format!("{kind:?} {case}, call {call} {how:?}");
            assert_eq!(status(&campaign, &submitted).await, expected, "{context}");
            check_counts(&campaign, kind, number, &expected, &context).await;
            if kind == Kind::Partner {
                let redeemed = u32::from(expected[0] == "accepted");
                assert_eq!(partner.redeemed(&id_of(&submitted)), redeemed, "{context}");
            }
            if !was_cut {
                break;
            }
        }
    }
    let fault_injection = usize::try_from(number).expect("small") - FaultKind::ALL.len();
    println!("settling {kind:?} {case}: {fault_injection} cut points");
    fault_injection
}

/// Counts and claim are those of one settled submission.
async fn check_counts(
    campaign: &TestCampaign,
    kind: Kind,
    number: u32,
    expected: &serde_json::Value,
    context: &str,
) {
    let accepted = expected[0] == "accepted";
    let scope = campaign.live_scope();
    let phone: Phone = phone(number).parse().expect("a phone");
    let entrant = campaign
        .service
        .entrant(&scope, &phone, "")
        .await
        .expect("an entrant");
    let entries = expected[3].as_u64().expect("a number");
    assert_eq!(
        (entrant.total, entrant.entries),
        (u32::from(accepted), entries),
        "{context}"
    );
    if matches!(kind, Kind::CodeAndReceipt | Kind::Partner) {
        let claims = campaign.service.holds(&scope).await;
        let claim = claims
            .iter()
            .find(|claim| claim.entrant == entrant_id(&scope, &phone));
        assert_eq!(
            claim.map(|claim| claim.redeemed),
            accepted.then_some(true),
            "{context}"
        );
    }
}

#[tokio::test]
async fn a_typed_receipt_is_accepted_once_wherever_settling_is_cut() {
    let calls = cut_everywhere(
        Kind::Typed,
        "GOOD",
        json!(["accepted", "verified", "entered", 1]),
    )
    .await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn a_photo_is_accepted_once_wherever_settling_is_cut() {
    let calls = cut_everywhere(
        Kind::Photo,
        "GOOD",
        json!(["accepted", "verified", "entered", 1]),
    )
    .await;
    assert!(calls >= 3 * 7, "{calls}");
}

#[tokio::test]
async fn code_and_receipt_are_accepted_once_wherever_settling_is_cut() {
    let expected = json!(["accepted", "verified", "entered", 1]);
    let calls = cut_everywhere(Kind::CodeAndReceipt, "GOOD", expected).await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn declined_receipt_frees_code_and_place_wherever_it_is_cut() {
    let expected = json!(["rejected", "declined", "receipt_wrong_store", 0]);
    let calls = cut_everywhere(Kind::CodeAndReceipt, "SHOP", expected).await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn a_partners_code_is_redeemed_once_wherever_settling_is_cut() {
    let calls = cut_everywhere(
        Kind::Partner,
        "DOWN",
        json!(["accepted", null, "entered", 2]),
    )
    .await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn partners_late_refusal_frees_the_code_wherever_it_is_cut() {
    let calls = cut_everywhere(
        Kind::Partner,
        "DNBC",
        json!(["rejected", null, "invalid", 0]),
    )
    .await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn a_step_that_always_dies_is_left_to_a_person_in_the_end() {
    let (campaign, _) = set_up(receipts_alone).await;
    let submitted = Kind::Typed.submit(&campaign, 1, "GOOD").await;
    let message = message_about(&campaign, &submitted);
    for _ in 0..6 {
        // The look-up comes after the step's start.
        let fault_injection = Interceptor::at(0, FaultKind::DiesBefore);
        let victim = cut_settler_at(&campaign.service, &fault_injection, [TAX_AUTHORITY]).await;
        tokio::select! {
            _ = victim.deliver(&message) => {}
            () = fault_injection.death() => {}
        }
        campaign.service.clock.advance(STEP_LEASE);
    }
    assert_eq!(
        status(&campaign, &submitted).await,
        json!(["unknown", null, "checking", 0])
    );
}
