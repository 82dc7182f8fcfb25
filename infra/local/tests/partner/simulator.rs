//! The client against every case of the simulator, and redemptions.

use std::collections::HashMap;
use std::time::Duration;

use common::domain::partner::PartnerSecret;
use common::domain::{InvalidReply, MessageKey, PartnerMessage, PartnerVerdict};
use common::upstream::http_client::{Addresses, TransportError};
use common::upstream::partner::client::Partner;
use common::upstream::partner::error::{InvalidPart, PartnerError};
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
        let rules = rules(&self.partner.url());
        let request = request(reference, code);
        self.client.ask(&rules, None, &request, limit).await
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
        assert_eq!(verdict.outcome, MessageKey::Entered);
        assert_eq!((verdict.entries, verdict.prize), (Some(2), None));
        let upstream = json!({ "code": 0, "message": "Accepted" });
        assert_eq!(shown(&verdict.upstream), upstream);
    }
    let used = fixture.outcome("b", "OKAY0001").await;
    assert_eq!(used, MessageKey::AlreadyUsed);
    assert_eq!(fixture.partner.redemptions(), [("a".to_owned(), 1)].into());
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
        assert_eq!(verdict.outcome, expected, "{code}");
        assert_eq!((verdict.entries, verdict.prize), (None, None), "{code}");
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
    for (code, expected, number, message) in [
        ("STRG0001", "entries_unreadable", 0, "Accepted"),
        ("NEWC0001", "code_unknown", 77, "A new kind of answer"),
    ] {
        let why = fixture.error(code, code).await;
        let upstream = json!({ "code": number, "message": message });
        assert_eq!(why.as_str(), expected, "{code}");
        assert_eq!(why.upstream().map(shown), Some(upstream), "{code}");
        assert!(!format!("{why:?}").contains(message), "{why:?}");
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
    let mut rules = rules(&fixture.partner.url());
    rules.secret = Some(PartnerSecret {
        header: "X-Key".to_owned(),
        name: "partners/demo".to_owned(),
    });
    let request = request("a", "OKAY0001");
    for (secret, error) in [
        (Some("hash"), Some(PartnerError::Status(401))),
        (None, Some(PartnerError::Misconfigured(InvalidPart::Secret))),
        (Some("hush"), None),
    ] {
        let answer = fixture.client.ask(&rules, secret, &request, LONG).await;
        assert_eq!(answer.err(), error);
    }
    assert_eq!(fixture.partner.asked("a"), 1);
}
