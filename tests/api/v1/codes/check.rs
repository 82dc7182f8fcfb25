//! `POST /api/v1/codes/check`: each kind of code.

use std::time::Duration;

use common::domain::campaign::CodePolicy;
use common::domain::code::Alphabet;
use common::domain::codebook::{BatchStatus, CodeBook};
use common::domain::scope::Environment;
use insta::assert_snapshot;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;

const PATH: &str = "/api/v1/codes/check";

async fn check_for(campaign: &TestCampaign, code: &str, phone: &str) -> Reply {
    campaign
        .test("POST", PATH)
        .json(&json!({ "code": code, "phone": phone }))
        .await
}

const VALID: &str = "valid null";
const INVALID: &str = "invalid invalid";

/// Precheck and message key of a code.
async fn said_of(campaign: &TestCampaign, code: &str) -> String {
    campaign.check(code).await.fields("precheck message_key")
}

#[tokio::test]
async fn a_genuine_code_is_valid_and_stays_free() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(1);
    for _ in 0..2 {
        let reply = campaign.check(&code).await;
        assert_eq!(
            reply.fields("precheck message_key message"),
            "valid null null"
        );
    }
    campaign.enter(1, 1).await;
}

#[tokio::test]
async fn code_that_was_never_printed_is_invalid() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.check("2345-6789-ABCD").await;
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "message": "This code is not valid. Check it and try again.",
      "message_key": "invalid",
      "precheck": "invalid"
    }
    "#);
    let one_too_far = campaign.code(100);
    for code in ["x", "0", "é", &"Z".repeat(64), &one_too_far, "TEST-1-VALID"] {
        assert_eq!(said_of(&campaign, code).await, INVALID, "{code:?}");
    }
}

#[tokio::test]
async fn used_code_is_already_used_to_all_but_its_owner() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(1);
    assert_eq!(campaign.outcome(&phone(1), &code).await, "entered");
    let reply = campaign.check(&code).await;
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "message": "This code has already been used. Try another code.",
      "message_key": "already_used",
      "precheck": "already_used"
    }
    "#);
    let other = check_for(&campaign, &code, &phone(2)).await;
    assert_eq!(other.json(), reply.json());
    for own in [phone(1), format!("0{}", &phone(1)[4..])] {
        let reply = check_for(&campaign, &code, &own).await;
        assert_eq!(
            reply.fields("precheck message_key message"),
            "valid null null"
        );
    }
}

#[tokio::test]
async fn a_code_counts_while_its_batch_is_active() {
    let campaign = TestCampaign::plain().await;
    let void = campaign.mint("void", BatchStatus::Void, None).await;
    let reserved = campaign.mint("reserved", BatchStatus::Reserved, None).await;
    let active = campaign
        .mint("active", BatchStatus::Active, Some("A kettle"))
        .await;
    for (serial, expected) in [
        (void, INVALID),
        (void + 99, INVALID),
        (reserved, INVALID),
        (active, VALID),
        // The last of the batch before.
        (active - 1, INVALID),
    ] {
        let said = said_of(&campaign, &campaign.code(serial)).await;
        assert_eq!(said, expected, "{serial}");
    }
}

#[tokio::test]
async fn voided_batch_stops_within_five_seconds_but_for_its_owners() {
    let campaign = TestCampaign::at_noon().await;
    let (used, free) = (campaign.code(1), campaign.code(2));
    campaign.enter(1, 1).await;
    assert_eq!(said_of(&campaign, &free).await, VALID);
    void(&campaign, "first").await;
    campaign.advance(Duration::from_secs(5));
    assert_eq!(said_of(&campaign, &free).await, INVALID);
    assert_eq!(said_of(&campaign, &used).await, INVALID);
    let own = check_for(&campaign, &used, &phone(1)).await;
    assert_eq!(own.field("precheck"), "valid");
    // The other environment has a book of its own.
    let live = campaign.live("POST", PATH).json(&json!({ "code": free }));
    assert_eq!(live.await.field("precheck"), "valid");
}

async fn void(campaign: &TestCampaign, name: &str) {
    let void = |book: &mut CodeBook| {
        let batch = book.batches.iter_mut().find(|batch| batch.name == name);
        batch.expect("a batch").status = BatchStatus::Void;
    };
    campaign.change_book(Environment::Test, void).await;
}

#[tokio::test]
async fn voided_prize_batch_stops_within_a_second_but_for_winners() {
    let campaign = TestCampaign::at_noon().await;
    let first = campaign
        .mint("cars", BatchStatus::Active, Some("A car"))
        .await;
    campaign
        .import(
            "printed",
            BatchStatus::Active,
            Some("A kettle"),
            &["KETTLE01", "KETTLE02"],
        )
        .await;
    let [won, free] = [first, first + 1].map(|serial| campaign.code(serial));
    let entered = campaign.submit(&phone(1), &won).await;
    assert_eq!(entered.field("instant_win"), "A car");
    assert_eq!(campaign.outcome(&phone(1), "KETTLE01").await, "instant_win");
    for code in [free.as_str(), "KETTLE02"] {
        assert_eq!(said_of(&campaign, code).await, VALID);
    }

    void(&campaign, "cars").await;
    void(&campaign, "printed").await;
    campaign.advance(Duration::from_secs(1));
    for code in [free.as_str(), "KETTLE02", &won, "KETTLE01"] {
        assert_eq!(said_of(&campaign, code).await, INVALID, "{code}");
        assert_eq!(campaign.outcome(&phone(2), code).await, "invalid", "{code}");
    }
    let again = campaign.submit(&phone(1), &won).await;
    assert_eq!(again.fields("id replayed"), entered.fields("id") + " true");
}

#[tokio::test]
async fn imported_codes_of_the_usual_length_are_looked_up() {
    let campaign = TestCampaign::plain().await;
    let forget_minted = |book: &mut CodeBook| {
        (book.minted_length, book.batches) = (None, Vec::new());
    };
    campaign.change_book(Environment::Test, forget_minted).await;
    let minted_shape = campaign.code(1);
    campaign
        .import(
            "printed",
            BatchStatus::Active,
            None,
            &["ABCDEFGHJKMN", "KETTLE010001"],
        )
        .await;

    assert_eq!(said_of(&campaign, "ABCD-EFGH-JKMN").await, VALID);
    for (number, code, outcome) in [
        (1, "ABCD-EFGH-JKMN", "entered"),
        (2, "ABCD-EFGH-JKMN", "already_used"),
        (2, "kettle 010001", "entered"),
        // It is not deciphered.
        (2, &minted_shape, "invalid"),
    ] {
        assert_eq!(
            campaign.outcome(&phone(number), code).await,
            outcome,
            "{code}"
        );
    }
}

#[tokio::test]
async fn code_of_digits_is_read_with_the_letters_that_look_alike() {
    let campaign = TestCampaign::plain().await;
    let change = |book: &mut CodeBook| book.alphabet = Alphabet::Digits;
    let book = campaign.change_book(Environment::Test, change).await;
    let cipher = book.cipher().expect("a length");
    for (number, one) in [(1, "l"), (2, "I")] {
        let code = cipher.encipher(number.into()).expect("in range");
        let typed = code.replace('0', "O").replace('1', one);
        assert_eq!(said_of(&campaign, &typed).await, VALID, "{typed}");
        assert_eq!(campaign.outcome(&phone(number), &typed).await, "entered");
        assert_eq!(campaign.outcome(&phone(9), &code).await, "already_used");
    }
    let letters = campaign.code(3);
    assert_eq!(campaign.outcome(&phone(1), &letters).await, "invalid");
}

#[tokio::test]
async fn imported_codes_count_like_minted_ones() {
    let campaign = TestCampaign::plain().await;
    campaign
        .import(
            "printed",
            BatchStatus::Active,
            None,
            &["CHAI2026", "KARIBU", "ASANTE"],
        )
        .await;
    campaign
        .import("withdrawn", BatchStatus::Void, None, &["OLDCODE"])
        .await;
    let kettle = Some("A kettle");
    campaign
        .import("later", BatchStatus::Active, kettle, &["LATECODE"])
        .await;
    assert_eq!(campaign.outcome(&phone(1), "Karibu").await, "entered");
    for (code, expected) in [
        ("chai-2026", VALID),
        ("CHAI2027", INVALID),
        ("KARIBU", "already_used already_used"),
        ("OLDCODE", INVALID),
        ("LATECODE", VALID),
        (&campaign.code(1), VALID),
    ] {
        assert_eq!(said_of(&campaign, code).await, expected, "{code}");
    }
    let own = check_for(&campaign, "KARIBU", &phone(1)).await;
    assert_eq!(own.field("precheck"), "valid");
}

#[tokio::test]
async fn a_campaign_without_codes_cannot_tell() {
    let campaign = TestCampaign::with(|config| config.code = CodePolicy::None).await;
    for code in [
        campaign.code(1),
        "x".to_owned(),
        "TEST-0-ALREADY-USED".to_owned(),
    ] {
        let reply = campaign.check(&code).await;
        assert_eq!(
            reply.fields("precheck message_key message"),
            "unsupported null null"
        );
    }
}

#[tokio::test]
async fn a_sentinel_gives_the_outcome_it_names() {
    let campaign = TestCampaign::plain().await;
    let (used, held) = ("already_used already_used", "already_used code_held");
    for (code, said) in [
        ("TEST-0-VALID", VALID),
        ("TEST-0-ENTERED", VALID),
        ("TEST-0-INSTANT-WIN", VALID),
        ("TEST-0-INVALID", INVALID),
        ("TEST-0-ALREADY-USED", used),
        ("TEST-0-CODE-HELD", held),
        ("test-0-already-used.7", used),
        ("  Test-0-Code-Held.x ", held),
        ("TEST-0-", INVALID),
        ("TEST-0-NO-SUCH-KEY", INVALID),
        // Only a submission shows outcomes that are not about the code.
        ("TEST-0-DAILY-LIMIT", VALID),
        ("TEST-0-ENTRY-LIMIT", VALID),
        ("TEST-0-BLOCKED", VALID),
        ("TEST-0-CAMPAIGN-ENDED", VALID),
        ("TEST-0-SERVICE-UNAVAILABLE", VALID),
    ] {
        assert_eq!(said_of(&campaign, code).await, said, "{code}");
    }
}

#[tokio::test]
async fn a_sentinel_that_entered_is_used_by_its_own_phone_alone() {
    let campaign = TestCampaign::plain().await;
    assert_eq!(campaign.outcome(&phone(1), "TEST-0-VALID").await, "entered");
    for phone in [phone(1), phone(2)] {
        let reply = check_for(&campaign, "TEST-0-VALID", &phone).await;
        assert_eq!(reply.field("precheck"), "valid");
    }
    assert_eq!(said_of(&campaign, "TEST-0-VALID").await, VALID);
}

#[tokio::test]
async fn a_held_code_says_that_another_entry_is_being_checked() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.check("TEST-0-CODE-HELD").await;
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "message": "This code is being checked for another entry. Try again later.",
      "message_key": "code_held",
      "precheck": "already_used"
    }
    "#);
}
