//! Faults at every call of settling functions: the submission ends the same, exactly once.

use std::time::Duration;

use common::domain::campaign::Campaign;
use common::domain::scope::Environment;
use common::domain::settling::{Dependency, STEP_LEASE};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::interceptor::{AWS, FaultKind, Interceptor};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of, receipts_alone};

use super::{
    ENTERED, SPEEDUP, UNKNOWN, declined, enter, photo_of, set_up, status, submit_receipt,
    submit_typed,
};

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
            Self::Typed => enter(campaign, number, &receipt).await,
            Self::CodeAndReceipt => {
                let code = campaign.code(u64::from(number));
                submit_typed(campaign, &phone(number), &code, &receipt, TIME).await
            }
            Self::Photo => {
                let photo = photo_of(&[&format!("https://verify.tra.go.tz/{receipt}_101530")]);
                let receipt = campaign.photo(&campaign.live_key, &photo, None).await;
                submit_receipt(campaign, number, &receipt).await
            }
            Self::Partner => {
                let code = format!("{case}-{number}");
                campaign.entry(&phone(number), &code).await
            }
        }
    }
}

const TAX_AUTHORITY: &str = "TAX_AUTHORITY_URL";

/// What settling calls, besides partners.
const ALL: [&str; 5] = [AWS[0], AWS[1], AWS[2], AWS[3], TAX_AUTHORITY];

/// Injects each kind of fault at every call of settling, and checks the end. Returns the number of
/// calls.
async fn cut_everywhere(kind: Kind, case: &str, expected: &str) -> usize {
    let partner = simulated(|_| {}).await;
    let faults = Interceptor::default();
    let partner_url = faults.in_front_of(&partner.base_url).await + "/redeem";
    let (campaign, settler) = set_up(|campaign| kind.campaign(campaign, partner_url)).await;
    let mut number = 0;
    for how in FaultKind::ALL {
        for call in 0.. {
            number += 1;
            let submitted = kind.submit(&campaign, number, case).await;
            let message = campaign.message(&id_of(&submitted));
            let service = campaign.service.behind(&faults, &ALL).await;
            // If a partner left it open, it is due some seconds later.
            campaign.advance(Duration::from_secs(10) / SPEEDUP);
            faults.arm(call, how);
            let victim = Settler::new(&service);
            faults
                .cut(victim.deliver_to(kind.dependency(), &message))
                .await;
            drop(victim);
            let was_cut = faults.was_made();
            faults.disarm();
            let context = format!("{kind:?} {case}, call {call} {how:?}");
            // The message comes again, twice at once, before and after the interrupted step's lease
            // expires, and once more when all is settled.
            let mut is_settled = false;
            for wait in [
                Duration::ZERO,
                STEP_LEASE,
                Duration::from_secs(1),
                Duration::from_secs(5),
            ] {
                campaign.advance(wait);
                let deliver = || settler.deliver_to(kind.dependency(), &message);
                let (one, other) = tokio::join!(deliver(), deliver());
                assert_eq!(
                    (one.batch_item_failures, other.batch_item_failures),
                    (vec![], vec![])
                );
                if is_settled {
                    break;
                }
                is_settled = status(&campaign, &submitted).await == expected;
            }
            assert_eq!(status(&campaign, &submitted).await, expected, "{context}");
            // Counts and claim are those of one settled submission.
            let accepted = expected.starts_with("accepted");
            let entrant = campaign.entrant(Environment::Live, number).await;
            let counts = format!("{} {}", entrant.total, entrant.entries);
            let entries = expected.rsplit(' ').next().expect("entries");
            assert_eq!(
                counts,
                format!("{} {entries}", u32::from(accepted)),
                "{context}"
            );
            if matches!(kind, Kind::CodeAndReceipt | Kind::Partner) {
                let claims = campaign.service.holds(&campaign.live_scope()).await;
                let id = campaign.entrant_id(Environment::Live, number);
                let claim = claims.iter().find(|claim| claim.entrant == id);
                let redeemed = claim.map(|claim| claim.redeemed);
                assert_eq!(redeemed, accepted.then_some(true), "{context}");
            }
            if kind == Kind::Partner {
                let redeemed = partner.redeemed(&id_of(&submitted));
                assert_eq!(redeemed, u32::from(accepted), "{context}");
            }
            if !was_cut {
                break;
            }
        }
    }
    let cuts = usize::try_from(number).expect("small") - FaultKind::ALL.len();
    println!("settling {kind:?} {case}: {cuts} cut points");
    cuts
}

#[tokio::test]
async fn a_typed_receipt_is_accepted_once_wherever_settling_is_cut() {
    let calls = cut_everywhere(Kind::Typed, "GOOD", ENTERED).await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn a_photo_is_accepted_once_wherever_settling_is_cut() {
    let calls = cut_everywhere(Kind::Photo, "GOOD", ENTERED).await;
    assert!(calls >= 3 * 7, "{calls}");
}

#[tokio::test]
async fn code_and_receipt_are_accepted_once_wherever_settling_is_cut() {
    let calls = cut_everywhere(Kind::CodeAndReceipt, "GOOD", ENTERED).await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn declined_receipt_frees_code_and_place_wherever_it_is_cut() {
    let expected = declined("receipt_wrong_store");
    let calls = cut_everywhere(Kind::CodeAndReceipt, "SHOP", &expected).await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn a_partners_code_is_redeemed_once_wherever_settling_is_cut() {
    let calls = cut_everywhere(Kind::Partner, "DOWN", "accepted null entered 2").await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn partners_late_refusal_frees_the_code_wherever_it_is_cut() {
    let calls = cut_everywhere(Kind::Partner, "DNBC", "rejected null invalid 0").await;
    assert!(calls >= 3 * 6, "{calls}");
}

#[tokio::test]
async fn a_step_that_always_dies_is_left_to_a_person_in_the_end() {
    let (campaign, _) = set_up(receipts_alone).await;
    let submitted = enter(&campaign, 1, "GOOD010001").await;
    let message = campaign.message(&id_of(&submitted));
    for _ in 0..6 {
        // The look-up comes after the step's start.
        let faults = Interceptor::at(0, FaultKind::DiesBefore);
        let service = campaign.service.behind(&faults, &[TAX_AUTHORITY]).await;
        faults.cut(Settler::new(&service).deliver(&message)).await;
        campaign.advance(STEP_LEASE);
    }
    assert_eq!(status(&campaign, &submitted).await, UNKNOWN);
}
