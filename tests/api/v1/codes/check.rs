//! `POST /api/v1/codes/check`: each kind of code.

use std::time::Duration;

use common::domain::campaign::CodePolicy;
use common::domain::code::Alphabet;
use common::domain::codebook::{BatchStatus, CodeBook};
use common::domain::scope::Environment;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::http::Reply;
use service_tests::service::Service;

const PATH: &str = "/api/v1/codes/check";

async fn check_for(campaign: &TestCampaign, code: &str, phone: &str) -> Reply {
    campaign
        .test("POST", PATH)
        .json(&json!({ "code": code, "phone": phone }))
        .send()
        .await
}

/// Precheck and message key of a code.
async fn said_of(campaign: &TestCampaign, code: &str) -> (Value, Value) {
    let reply = campaign.check(code).send().await;
    (reply.field("precheck"), reply.field("message_key"))
}

fn valid() -> (Value, Value) {
    (json!("valid"), Value::Null)
}

fn invalid() -> (Value, Value) {
    (json!("invalid"), json!("invalid"))
}

#[tokio::test]
async fn a_genuine_code_is_valid_and_stays_free() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(1);
    for _ in 0..2 {
        let reply = campaign.check(&code).send().await;
        assert_eq!(
            reply.redacted(),
            json!([200, { "precheck": "valid", "message_key": null, "message": null }])
        );
    }
    assert_eq!(
        campaign.outcome(&phone(1), &code).await,
        "entered",
        "checking it took nothing"
    );
}

#[tokio::test]
async fn code_that_was_never_printed_is_invalid() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.check("2345-6789-ABCD").send().await;
    assert_eq!(
        reply.redacted(),
        json!([200, {
            "precheck": "invalid", "message_key": "invalid",
            "message": "This code is not valid. Check it and try again.",
        }])
    );
    let one_too_far = campaign.code(100);
    for code in ["x", "0", "é", &"Z".repeat(64), &one_too_far, "TEST-1-VALID"] {
        assert_eq!(said_of(&campaign, code).await, invalid(), "{code:?}");
    }
}

#[tokio::test]
async fn used_code_is_already_used_to_all_but_its_owner() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(1);
    assert_eq!(campaign.outcome(&phone(1), &code).await, "entered");
    let reply = campaign.check(&code).send().await;
    assert_eq!(
        reply.redacted(),
        json!([200, {
            "precheck": "already_used", "message_key": "already_used",
            "message": "This code has already been used. Try another code.",
        }])
    );
    assert_eq!(
        check_for(&campaign, &code, &phone(2)).await.redacted(),
        reply.redacted()
    );
    let own = check_for(&campaign, &code, &phone(1)).await;
    assert_eq!(
        own.redacted(),
        json!([200, { "precheck": "valid", "message_key": null, "message": null }])
    );
    let own_national = format!("0{}", &phone(1)[4..]);
    assert_eq!(
        check_for(&campaign, &code, &own_national)
            .await
            .field("precheck"),
        "valid"
    );
}

#[tokio::test]
async fn a_code_counts_while_its_batch_is_active() {
    let campaign = TestCampaign::plain().await;
    let void = campaign.mint("void", BatchStatus::Void, None).await;
    let reserved = campaign.mint("reserved", BatchStatus::Reserved, None).await;
    let active = campaign
        .mint("active", BatchStatus::Active, Some("A kettle"))
        .await;
    assert_eq!(said_of(&campaign, &campaign.code(void)).await, invalid());
    assert_eq!(
        said_of(&campaign, &campaign.code(void + 99)).await,
        invalid()
    );
    assert_eq!(
        said_of(&campaign, &campaign.code(reserved)).await,
        invalid()
    );
    assert_eq!(said_of(&campaign, &campaign.code(active)).await, valid());
    assert_eq!(
        said_of(&campaign, &campaign.code(active - 1)).await,
        invalid(),
        "the last of the batch before"
    );
}

#[tokio::test]
async fn voided_batch_stops_within_five_seconds_but_for_its_owners() {
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
    let (used, free) = (campaign.code(1), campaign.code(2));
    assert_eq!(campaign.outcome(&phone(1), &used).await, "entered");
    assert_eq!(said_of(&campaign, &free).await, valid());

    let scope = campaign.scope(Environment::Test);
    let books = &service.tables.code_books;
    let mut stored = books.get(&scope).await.expect("a book").expect("a book");
    stored.book.batches[0].status = BatchStatus::Void;
    books.save(&scope, &stored).await.expect("saved");
    service.clock.advance(Duration::from_secs(5));
    assert_eq!(said_of(&campaign, &free).await, invalid());
    assert_eq!(said_of(&campaign, &used).await, invalid());
    assert_eq!(
        check_for(&campaign, &used, &phone(1))
            .await
            .field("precheck"),
        "valid"
    );
    let live = campaign
        .live("POST", PATH)
        .json(&json!({ "code": free }))
        .send()
        .await;
    assert_eq!(
        live.field("precheck"),
        "valid",
        "the other environment has a book of its own"
    );
}

async fn void(campaign: &TestCampaign, name: &str) {
    let (scope, books) = (
        campaign.scope(Environment::Test),
        &campaign.service.tables.code_books,
    );
    let mut stored = books.get(&scope).await.expect("a book").expect("a book");
    let batch = stored
        .book
        .batches
        .iter_mut()
        .find(|batch| batch.name == name)
        .expect("a batch");
    batch.status = BatchStatus::Void;
    books.save(&scope, &stored).await.expect("saved");
}

#[tokio::test]
async fn voided_prize_batch_stops_within_a_second_but_for_winners() {
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
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
        assert_eq!(said_of(&campaign, code).await, valid());
    }

    void(&campaign, "cars").await;
    void(&campaign, "printed").await;
    service.clock.advance(Duration::from_secs(1));
    for code in [free.as_str(), "KETTLE02", &won, "KETTLE01"] {
        assert_eq!(said_of(&campaign, code).await, invalid(), "{code}");
        assert_eq!(campaign.outcome(&phone(2), code).await, "invalid", "{code}");
    }
    let again = campaign.submit(&phone(1), &won).await;
    assert_eq!(
        (again.field("id"), again.field("replayed")),
        (entered.field("id"), json!(true))
    );
}

#[tokio::test]
async fn imported_codes_of_the_usual_length_are_looked_up() {
    let campaign = TestCampaign::plain().await;
    let (scope, books) = (
        campaign.scope(Environment::Test),
        &campaign.service.tables.code_books,
    );
    let mut stored = books.get(&scope).await.expect("a book").expect("a book");
    (stored.book.minted_length, stored.book.batches) = (None, Vec::new());
    books.save(&scope, &stored).await.expect("saved");
    let minted_shape = campaign.code(1);
    campaign
        .import(
            "printed",
            BatchStatus::Active,
            None,
            &["ABCDEFGHJKMN", "KETTLE010001"],
        )
        .await;

    assert_eq!(said_of(&campaign, "ABCD-EFGH-JKMN").await, valid());
    assert_eq!(
        campaign.outcome(&phone(1), "ABCD-EFGH-JKMN").await,
        "entered"
    );
    assert_eq!(
        campaign.outcome(&phone(2), "ABCD-EFGH-JKMN").await,
        "already_used"
    );
    assert_eq!(
        campaign.outcome(&phone(2), "kettle 010001").await,
        "entered"
    );
    assert_eq!(
        campaign.outcome(&phone(2), &minted_shape).await,
        "invalid",
        "it is not deciphered"
    );
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
        assert_eq!(said_of(&campaign, &typed).await, valid(), "{typed}");
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
    assert_eq!(said_of(&campaign, "chai-2026").await, valid());
    assert_eq!(said_of(&campaign, "CHAI2027").await, invalid());
    assert_eq!(
        said_of(&campaign, &campaign.code(1)).await,
        valid(),
        "both kinds live side by side"
    );

    assert_eq!(campaign.outcome(&phone(1), "Karibu").await, "entered");
    assert_eq!(
        said_of(&campaign, "KARIBU").await,
        (json!("already_used"), json!("already_used"))
    );
    assert_eq!(
        check_for(&campaign, "KARIBU", &phone(1))
            .await
            .field("precheck"),
        "valid"
    );
}

#[tokio::test]
async fn an_imported_code_counts_while_its_own_batch_does() {
    let campaign = TestCampaign::plain().await;
    campaign
        .import("withdrawn", BatchStatus::Void, None, &["OLDCODE"])
        .await;
    campaign
        .import("printed", BatchStatus::Active, None, &["NEWCODE"])
        .await;
    campaign
        .import(
            "later",
            BatchStatus::Active,
            Some("A kettle"),
            &["LATECODE"],
        )
        .await;
    assert_eq!(said_of(&campaign, "OLDCODE").await, invalid());
    assert_eq!(said_of(&campaign, "NEWCODE").await, valid());
    assert_eq!(
        said_of(&campaign, "LATECODE").await,
        valid(),
        "also when it is not of the first batch"
    );
}

#[tokio::test]
async fn a_campaign_without_codes_cannot_tell() {
    let campaign = TestCampaign::with(|config| config.code = CodePolicy::None).await;
    for code in [
        campaign.code(1),
        "x".to_owned(),
        "TEST-0-ALREADY-USED".to_owned(),
    ] {
        let reply = campaign.check(&code).send().await;
        assert_eq!(
            reply.redacted(),
            json!([200, { "precheck": "unsupported", "message_key": null, "message": null }])
        );
    }
}

#[tokio::test]
async fn a_sentinel_gives_the_outcome_it_names() {
    let campaign = TestCampaign::plain().await;
    let used = |key: &str| (json!("already_used"), json!(key));
    for (code, said) in [
        ("TEST-0-VALID", valid()),
        ("TEST-0-ENTERED", valid()),
        ("TEST-0-INSTANT-WIN", valid()),
        ("TEST-0-INVALID", invalid()),
        ("TEST-0-ALREADY-USED", used("already_used")),
        ("TEST-0-CODE-HELD", used("code_held")),
        ("test-0-already-used.7", used("already_used")),
        ("  Test-0-Code-Held.x ", used("code_held")),
        ("TEST-0-", invalid()),
        ("TEST-0-NO-SUCH-KEY", invalid()),
        // Only a submission shows outcomes that are not about the code.
        ("TEST-0-DAILY-LIMIT", valid()),
        ("TEST-0-ENTRY-LIMIT", valid()),
        ("TEST-0-BLOCKED", valid()),
        ("TEST-0-CAMPAIGN-ENDED", valid()),
        ("TEST-0-SERVICE-UNAVAILABLE", valid()),
    ] {
        assert_eq!(said_of(&campaign, code).await, said, "{code}");
    }
}

#[tokio::test]
async fn a_sentinel_that_entered_is_used_by_its_own_phone_alone() {
    let campaign = TestCampaign::plain().await;
    assert_eq!(campaign.outcome(&phone(1), "TEST-0-VALID").await, "entered");
    for phone in [phone(1), phone(2)] {
        assert_eq!(
            check_for(&campaign, "TEST-0-VALID", &phone)
                .await
                .field("precheck"),
            "valid"
        );
    }
    assert_eq!(said_of(&campaign, "TEST-0-VALID").await, valid());
}

#[tokio::test]
async fn a_held_code_says_that_another_entry_is_being_checked() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.check("TEST-0-CODE-HELD").send().await;
    assert_eq!(
        reply.redacted(),
        json!([200, {
            "precheck": "already_used", "message_key": "code_held",
            "message": "This code is being checked for another entry. Try again later.",
        }])
    );
}
