//! The client against every case of the simulator, and redemptions.

use std::collections::HashMap;
use std::time::Duration;

use common::domain::message::MessageKey;
use common::domain::partner::PartnerSecret;
use common::domain::partner::outcome::FaultOwner;
use common::domain::partner::reply::{InvalidReply, PartnerMessage, PartnerVerdict};
use common::upstream::http_client::{Addresses, TransportError};
use common::upstream::partner::client::Partner;
use common::upstream::partner::error::{InvalidPart, PartnerError};
use local::partner::cases::CASES;
use local::partner::{PartnerOptions, SimulatedPartner};
use serde_json::{Value, json};

use super::{LONG, request, rules};

const TIMEOUT: PartnerError = PartnerError::Transport(TransportError::Timeout);

struct Fixture {
    partner: SimulatedPartner,
    client: Partner,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(|_| ()).await
    }

    async fn with(change: impl FnOnce(&mut PartnerOptions)) -> Self {
        let mut options = PartnerOptions::default();
        change(&mut options);
        let partner = SimulatedPartner::serve(options).await.expect("a partner");
        Self {
            partner,
            client: Partner::new(Addresses::Any),
        }
    }

    async fn ask(&self, reference: &str, code: &str) -> Result<PartnerVerdict, PartnerError> {
        self.ask_within(reference, code, LONG).await
    }

    async fn ask_within(
        &self,
        reference: &str,
        code: &str,
        limit: Duration,
    ) -> Result<PartnerVerdict, PartnerError> {
        self.client
            .ask(
                &rules(&self.partner.url()),
                None,
                &request(reference, code),
                limit,
            )
            .await
    }

    async fn verdict(&self, reference: &str, code: &str) -> PartnerVerdict {
        self.ask(reference, code).await.expect(code)
    }

    async fn outcome(&self, reference: &str, code: &str) -> MessageKey {
        self.verdict(reference, code).await.outcome
    }

    async fn error(&self, reference: &str, code: &str) -> PartnerError {
        self.ask(reference, code).await.expect_err(code)
    }
}

fn shown(upstream: &PartnerMessage) -> Value {
    serde_json::to_value(upstream).expect("JSON")
}

#[tokio::test]
async fn an_accepted_code_is_redeemed_once_and_by_one() {
    let fixture = Fixture::new().await;
    for _ in 0..3 {
        let verdict = fixture.verdict("a", "okay-0001").await;
        assert_eq!(
            (verdict.outcome, verdict.entries, verdict.prize),
            (MessageKey::Entered, Some(2), None)
        );
        assert_eq!(
            shown(&verdict.upstream),
            json!({ "code": 0, "message": "Accepted" })
        );
    }
    assert_eq!(
        fixture.outcome("b", "OKAY0001").await,
        MessageKey::AlreadyUsed
    );
    assert_eq!(fixture.outcome("b", "OKAY0002").await, MessageKey::Entered);
    assert_eq!(
        (fixture.partner.redeemed("a"), fixture.partner.asked("a")),
        (1, 3)
    );
    assert_eq!(
        fixture.partner.redemptions(),
        HashMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)])
    );
    assert_eq!(
        fixture.partner.redeemed_by("okay 0001").as_deref(),
        Some("a")
    );
}

#[tokio::test]
async fn a_win_comes_with_its_prize() {
    let verdict = Fixture::new().await.verdict("a", "WINS0001").await;
    assert_eq!(verdict.outcome, MessageKey::InstantWin);
    assert_eq!(
        (verdict.entries, verdict.prize.as_deref()),
        (Some(2), Some("A mug"))
    );
}

#[tokio::test]
async fn a_refused_code_is_not_redeemed() {
    let fixture = Fixture::new().await;
    for (code, expected) in [
        ("BADC0001", MessageKey::Invalid),
        ("ELSE0001", MessageKey::Invalid),
        ("USED0001", MessageKey::AlreadyUsed),
        ("LIMT0001", MessageKey::EntryLimit),
        ("BLOK0001", MessageKey::Blocked),
        ("MISS0001", MessageKey::Invalid),
        ("CONF0001", MessageKey::AlreadyUsed),
    ] {
        let verdict = fixture.verdict(code, code).await;
        assert_eq!(
            (verdict.outcome, verdict.entries, verdict.prize),
            (expected, None, None),
            "{code}"
        );
    }
    assert_eq!(fixture.partner.redemptions(), HashMap::new());
}

#[tokio::test]
async fn a_reply_that_is_not_as_agreed_is_no_answer() {
    let fixture = Fixture::new().await;
    for (code, expected) in [
        ("HTML0001", PartnerError::Unreadable(InvalidReply::NotJson)),
        ("TWOJ0001", PartnerError::Unreadable(InvalidReply::NotJson)),
        ("HUGE0001", TransportError::TooLarge.into()),
        ("MOVE0001", PartnerError::Redirected),
        ("DEAD0001", PartnerError::Status(503)),
        ("ODDS0001", PartnerError::Status(422)),
    ] {
        assert_eq!(fixture.error(code, code).await, expected, "{code}");
    }
    for (code, expected, upstream) in [
        (
            "STRG0001",
            "entries_unreadable",
            json!({ "code": 0, "message": "Accepted" }),
        ),
        (
            "NEWC0001",
            "code_unknown",
            json!({ "code": 77, "message": "A new kind of answer" }),
        ),
    ] {
        let why = fixture.error(code, code).await;
        assert_eq!(
            (why.as_str(), why.upstream().map(shown)),
            (expected, Some(upstream)),
            "{code}"
        );
        assert!(
            !format!("{why:?}").contains("ccepted") && !format!("{why:?}").contains("kind"),
            "{why:?}"
        );
    }
    assert_eq!(fixture.partner.redemptions(), HashMap::new());
}

#[tokio::test]
async fn a_lost_answer_is_had_by_asking_again() {
    let fixture = Fixture::with(|options| options.slow_for = Duration::from_secs(60)).await;
    let slow = fixture
        .ask_within("a", "SLOW0001", Duration::from_secs(2))
        .await;
    assert_eq!(slow, Err(TIMEOUT));
    assert_eq!(fixture.error("b", "GONE0001").await.as_str(), "broken");
    for _ in 0..2 {
        assert_eq!(
            fixture.error("c", "DOWN0001").await,
            PartnerError::Status(503)
        );
    }
    for (reference, code) in [("a", "SLOW0001"), ("b", "GONE0001"), ("c", "DOWN0001")] {
        assert_eq!(
            fixture.outcome(reference, code).await,
            MessageKey::Entered,
            "{code}"
        );
        assert_eq!(fixture.partner.redeemed(reference), 1, "{code}");
    }
}

#[tokio::test]
async fn a_partner_can_answer_twice_differently() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.outcome("a", "FLIP0001").await, MessageKey::Entered);
    assert_eq!(
        fixture.outcome("a", "FLIP0001").await,
        MessageKey::AlreadyUsed
    );
    assert_eq!(fixture.partner.redeemed("a"), 1);
}

#[tokio::test]
async fn an_answer_that_drips_ends_at_the_limit() {
    let fixture = Fixture::new().await;
    let drip = fixture
        .ask_within("a", "DRIP0001", Duration::from_millis(500))
        .await;
    assert_eq!(drip, Err(TIMEOUT));
}

#[tokio::test]
async fn the_rules_limit_counts_too() {
    let fixture = Fixture::with(|options| options.slow_for = Duration::from_secs(60)).await;
    let mut rules = rules(&fixture.partner.url());
    rules.timeout_seconds = 1;
    let answer = fixture
        .client
        .ask(&rules, None, &request("a", "SLOW0001"), LONG)
        .await;
    assert_eq!(answer, Err(TIMEOUT));
}

#[tokio::test]
async fn only_who_knows_the_secret_is_answered() {
    let secret = ("X-Key".to_owned(), "hush".to_owned());
    let fixture = Fixture::with(|options| options.secret = Some(secret)).await;
    assert_eq!(
        fixture.error("a", "OKAY0001").await,
        PartnerError::Status(401)
    );
    let mut rules = rules(&fixture.partner.url());
    rules.secret = Some(PartnerSecret {
        header: "X-Key".to_owned(),
        name: "partners/demo".to_owned(),
    });
    let request = request("a", "OKAY0001");
    let wrong = fixture
        .client
        .ask(&rules, Some("hash"), &request, LONG)
        .await;
    assert_eq!(wrong, Err(PartnerError::Status(401)));
    let none = fixture.client.ask(&rules, None, &request, LONG).await;
    assert_eq!(none, Err(PartnerError::Misconfigured(InvalidPart::Secret)));
    assert_eq!(fixture.partner.asked("a"), 0);
    let right = fixture
        .client
        .ask(&rules, Some("hush"), &request, LONG)
        .await;
    assert!(right.is_ok(), "{right:?}");
}

#[tokio::test]
async fn a_request_that_is_none_is_refused() {
    let fixture = Fixture::new().await;
    let refused = |why: &PartnerError| {
        (why.as_str(), why.fault_owner()) == ("code_unknown", FaultOwner::Campaign)
    };
    assert!(refused(&fixture.error("", "OKAY0001").await));
    let mut rules = rules(&fixture.partner.url());
    rules.body = None;
    let answer = fixture
        .client
        .ask(&rules, None, &request("a", "OKAY0001"), LONG)
        .await;
    assert!(answer.as_ref().is_err_and(refused), "{answer:?}");
}

#[test]
fn every_case_has_letters_of_its_own() {
    let prefixes: Vec<_> = CASES.iter().map(|case| case.prefix).collect();
    let mut sorted = prefixes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(
        (
            sorted.len(),
            prefixes.iter().all(|prefix| prefix.len() == 4)
        ),
        (prefixes.len(), true)
    );
}
