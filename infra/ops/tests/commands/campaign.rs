//! `ops campaign`.

use common::domain::scope::Environment;
use ops_core::pace::PARTNER_CONCURRENCY;
use serde_json::json;
use service_tests::text::len_of;

use crate::support::{CHAI, Stack, chai, run};

/// A campaign whose partner checks codes.
pub(crate) fn with_partner() -> String {
    let partner = "\
partner:
  url: https://partner.example/redeem?token=hush
  headers: { X-Client: hush }
  secret: { header: Authorization, name: partners/chai-bora }
  body: { id: \"{{reference}}\", code: \"{{code}}\" }
  reply: { code: /status }
  outcomes: { 0: entered, 20: invalid }
";
    format!(
        "{}{partner}",
        CHAI.replace("checked_by: service", "checked_by: partner")
    )
}

#[tokio::test]
async fn applying_a_file_creates_then_leaves_then_updates() {
    let stack = Stack::empty().await;
    let file = stack.file("chai.yaml", CHAI);
    for change in ["created", "unchanged"] {
        let done = stack.json(format!("campaign apply --yes {file}")).await;
        assert_eq!(done["campaigns"][0]["change"], change);
    }
    assert_eq!(
        stack.apply(CHAI.replace("Shinda", "Pata")).await.out,
        "chai-bora-2026 changes:\n  name: Chai Bora Shinda -> Chai Bora Pata\nchai-bora-2026 updated\n"
    );
}

#[tokio::test]
async fn a_campaign_is_shown_in_the_words_of_its_file() {
    let stack = Stack::with_chai().await;
    let shown = stack.json("campaign show chai-bora-2026").await;
    assert_eq!(
        shown,
        json!({
            "slug": "chai-bora-2026",
            "name": "Chai Bora Shinda",
            "brand": "Chai Bora",
            "timezone": "Africa/Dar_es_Salaam",
            "paused": false,
            "window": { "start": "2025-12-31T21:00:00.000Z", "end": null },
            "code": { "checked_by": "service" },
            "limits": { "phone_daily": 3, "phone_total": 20 },
            "entries_per_submission": 2,
            "wrong_codes": { "count": 10, "minutes": 60 },
            "messages": { "en": { "entered": "You are in!" }, "sw": {} },
            "receipt": null,
            "partner": null,
            "status": "live",
            "archived": false,
            "pause_change": null,
            "retention_progress": [
                { "data": "phones", "kept_until": null, "live": null, "test": null },
                { "data": "photos", "kept_until": null, "live": null, "test": null },
                { "data": "limits", "kept_until": null, "live": null, "test": null },
            ],
            "codes": { "test": { "minted": 0, "imported": 0 }, "live": { "minted": 0, "imported": 0 } },
            "webhooks_failing": [],
        })
    );
    insta::assert_snapshot!(stack.fine("campaign show chai-bora-2026").await, @"
    slug                    chai-bora-2026
    name                    Chai Bora Shinda
    brand                   Chai Bora
    timezone                Africa/Dar_es_Salaam
    paused                  false
    window.start            2026-01-01 00:00:00 Africa/Dar_es_Salaam
    window.end              for ever
    code.checked_by         service
    limits.phone_daily      3
    limits.phone_total      20
    entries_per_submission  2
    wrong_codes.count       10
    wrong_codes.minutes     60
    messages.en             entered
    messages.sw             the service's words
    receipt                 it takes no receipts
    consent                 it has no text of its own
    instant                 none
    status                  live
    phones                  kept, no limit set
    photos                  no limit set here: deleted the stack's PhotoRetentionDays after their upload (usually 180)
    limits of erased        30 days after the end: kept, because the campaign has no window.end
    codes, test             0 minted, 0 imported
    codes, live             0 minted, 0 imported
    ");
    insta::assert_snapshot!(stack.fine("campaign list").await, @"
    SLUG            STATUS  START                END  ZONE                  BRAND      NAME
    chai-bora-2026  live    2026-01-01 00:00:00  -    Africa/Dar_es_Salaam  Chai Bora  Chai Bora Shinda
    ");
}

/// Lines of `campaign show` about a block of the file.
async fn lines_about(stack: &Stack, block: &str) -> String {
    let text = stack.fine("campaign show chai-bora-2026").await;
    let lines = text.lines().filter(|line| line.starts_with(block));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn what_a_campaign_asks_of_receipts_is_shown() {
    let stack = Stack::empty().await;
    let receipt = "receipt:
  typed: true
  ranges: [{ name: Classic }]
  products: [{ key: chai-250, range: Classic, label: 250 g, name: Chai Bora 250 g, match: [CHAI BORA 250] }]
";
    let file = format!("{CHAI}{receipt}");
    stack.apply(&file).await;
    let again = stack.apply(&file).await.out;
    assert_eq!(again, "chai-bora-2026 unchanged\n");
    let shown = stack.json("campaign show chai-bora-2026").await;
    assert_eq!(
        shown["receipt"],
        json!({
            "required": true,
            "typed": true,
            "max_entries": 100,
            "on_no_match": "review",
            "ranges": [{ "name": "Classic", "tag": null }],
            "products": [{
                "key": "chai-250",
                "range": "Classic",
                "label": "250 g",
                "name": "Chai Bora 250 g",
                "color": null,
                "image": null,
                "match": ["CHAI BORA 250"],
                "entries": 1,
            }],
            "branches": [],
            "draw_period": null,
        })
    );
    insta::assert_snapshot!(lines_about(&stack, "receipt").await, @"
    receipt.required        true
    receipt.typed           true
    receipt.on_no_match     review
    receipt.max_entries     100
    receipt.ranges          1
    receipt.products        1
    receipt.branches        any shop counts
    receipt.draw_period     none
    ");
}

#[tokio::test]
async fn colon_in_a_name_asks_for_quotes() {
    let stack = Stack::empty().await;
    let file = stack.file(
        "chai.yaml",
        CHAI.replace("name: Chai Bora Shinda", "name: Chai Bora: Shinda"),
    );
    let ended = stack.run(format!("campaign apply --yes {file}")).await;
    let line = CHAI
        .lines()
        .position(|line| line.starts_with("name: "))
        .expect("a name")
        + 1;
    assert_contains!(
        ended.err,
        format!("chai.yaml:{line}: put a text with `: ` into quotes\n"),
        "nothing was changed: 1 problem; correct it and run this again\n"
    );
}

#[tokio::test]
async fn one_bad_file_changes_nothing_and_all_problems_are_listed() {
    let stack = Stack::empty().await;
    let good = stack.file("good.yaml", CHAI);
    let bad = stack.file(
        "bad.yaml",
        "slug: Bad\nname: B\nlimits: { phone_dayly: 3 }\n",
    );
    let worse = stack.file("worse.yaml", "slug: [\n");
    let ended = stack
        .run(format!("campaign apply --yes {good} {bad} {worse}"))
        .await
        .failed();
    let shown = ended.replace(&format!("{}/", stack.folder.path().display()), "");
    for line in [
        "bad.yaml:1: slug must be 1 to 64 of a-z, 0-9 and inner dashes, such as `chai-bora-2026`",
        "bad.yaml:1: brand is missing; add it, such as `brand: Chai Bora`",
        "bad.yaml:3: limits.phone_dayly is not a field of a campaign file; did you mean `phone_daily`?",
        "error: nothing was changed: 6 problems; correct them and run this again",
    ] {
        assert!(shown.contains(&format!("{line}\n")), "{line}\n{shown}");
    }
    assert_contains!(shown, "\nworse.yaml:1: this is not YAML that can be read");
    assert_eq!(
        stack.json("campaign list").await,
        json!({ "campaigns": [] })
    );
}

#[tokio::test]
async fn two_files_of_one_campaign_are_refused() {
    let stack = Stack::empty().await;
    let (a, b) = (stack.file("a.yaml", CHAI), stack.file("b.yaml", CHAI));
    let error = stack
        .refused(
            format!("campaign apply --yes {a} {b}"),
            "campaign_file_invalid",
        )
        .await;
    assert_eq!(error.problems[0]["field"], "slug");
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let stack = Stack::empty().await;
    stack
        .refused("campaign apply --yes nowhere.yaml", "file_failed")
        .await;
}

#[tokio::test]
async fn pause_outlives_a_file_that_does_not_name_it() {
    let stack = Stack::with_chai().await;
    stack.fine("campaign pause chai-bora-2026").await;
    stack.apply(CHAI.replace("Shinda", "Pata")).await;
    let listed = stack.json("campaign list").await;
    assert_eq!(listed["campaigns"][0]["status"], "paused");
    let outspoken = stack.file("chai.yaml", format!("{CHAI}paused: false\n"));
    let said = stack
        .fine(format!("campaign apply --yes {outspoken}"))
        .await;
    assert_eq!(
        said,
        "chai-bora-2026 changes:\n  name: Chai Bora Pata -> Chai Bora Shinda\n  paused: true -> false\n      \
         the campaign takes entries again\n\
         chai-bora-2026 updated; it is no longer paused\n"
    );
    assert_eq!(
        stack
            .json(format!("campaign apply --yes {outspoken}"))
            .await["campaigns"][0]["resumed"],
        false
    );
    assert_eq!(
        stack.json("campaign list").await["campaigns"][0]["status"],
        "live"
    );
}

#[tokio::test]
async fn pausing_and_resuming_turn_the_switch() {
    let stack = Stack::with_chai().await;
    stack.fine("campaign pause chai-bora-2026").await;
    assert_contains!(stack.fine("campaign list").await, "paused");
    stack.fine("campaign resume chai-bora-2026").await;
    assert_contains!(stack.fine("campaign list").await, "live");
    for command in ["pause", "resume", "show"] {
        stack
            .refused(format!("campaign {command} nobody"), "campaign_unknown")
            .await;
    }
}

#[tokio::test]
async fn applying_starts_the_code_books_once() {
    let stack = Stack::with_chai().await;
    let tables = stack.tables();
    let book = async |environment| {
        tables
            .code_books
            .get(&chai(environment))
            .await
            .expect("it answers")
            .expect("a book")
            .book
    };
    let (test, live) = (book(Environment::Test).await, book(Environment::Live).await);
    assert_ne!(test.minting_key, live.minting_key);
    stack.apply(CHAI.replace("Shinda", "Pata")).await;
    assert_eq!(book(Environment::Live).await.minting_key, live.minting_key);
}

#[tokio::test]
async fn partner_is_shown_without_secrets() {
    let stack = Stack::empty().await;
    stack.apply(with_partner()).await;
    insta::assert_snapshot!(lines_about(&stack, "partner").await, @"
    partner.url              https://partner.example/redeem?(not shown)
    partner.method           POST
    partner.headers          X-Client
    partner.secret.header    Authorization
    partner.secret.name      partners/chai-bora
    partner.timeout_seconds  8
    partner.max_in_flight    50
    partner.code             folded
    partner.body             (not shown)
    partner.reply.code       /status
    partner.reply.message    none
    partner.reply.entries    `entries_per_submission`
    partner.reply.prize      none
    partner.outcomes         0, 20
    ");
    assert_eq!(lines_about(&stack, "codes").await, "");
    let json = stack.json("campaign show chai-bora-2026").await;
    assert_eq!(json["code"]["checked_by"], "partner");
}

#[tokio::test]
async fn applying_says_what_is_live_at_once() {
    let stack = Stack::empty().await;
    let window = "window: { start: 2026-01-01T00:00:00+03:00, end: null }\n";
    let open = CHAI.replace(window, "");
    let said = "chai-bora-2026 has no window.start and is not paused, so it takes entries once it is applied; \
                `ops campaign pause chai-bora-2026` stops it\n";
    let told = stack.apply(&open).await.err;
    assert!(
        told.starts_with("next: give the caller a key") && told.contains("`ops code mint"),
        "{told}"
    );
    assert!(told.ends_with(said), "{told}");
    assert_eq!(stack.apply(&open).await.err, "", "it was so before");
    for quiet in [CHAI.to_owned(), format!("{open}paused: true\n")] {
        assert_eq!(stack.apply(quiet).await.err, "");
    }
}

#[tokio::test]
async fn campaign_that_lets_anyone_in_needs_an_option() {
    let stack = Stack::empty().await;
    let open = CHAI.replace("checked_by: service", "checked_by: none");
    let receipt = "receipt: { required: false, ranges: [{ name: Classic }] }\n";
    for open in [open.clone(), format!("{open}{receipt}")] {
        let file = stack.file("chai.yaml", &open);
        let message = stack
            .refused(format!("campaign apply --yes {file}"), "anyone_can_enter")
            .await
            .message;
        assert_contains!(message, "anyone can enter", "--allow-anyone");
        stack.fine(format!("campaign apply --dry-run {file}")).await;
        stack
            .fine(format!("campaign apply --yes --allow-anyone {file}"))
            .await;
        // Only this is reported again without being written.
        let json = stack.json(format!("campaign apply --yes {file}")).await;
        assert_eq!(len_of(&json["notes"]), 1, "{json}");
    }
    let asking = format!("{open}{}", receipt.replace("false", "true"));
    let said = stack.apply(asking).await.err;
    assert_lacks!(said, "anyone can enter");
}

#[tokio::test]
async fn applying_says_how_fast_submissions_are_settled() {
    let stack = Stack::empty().await;
    let limited = with_partner().replace(
        "  reply:",
        "  timeout_seconds: 5\n  max_in_flight: 20\n  reply:",
    );
    let said = "chai-bora-2026: at most 20 requests ask the partner at a time (partner.max_in_flight); the queue asks \
                about the rest, 120 a minute while an answer takes 5 s, 600 at 1 s (PartnerConcurrency of the \
                deployment: 10 unless it was set)\n";
    let told = stack.apply(&limited).await.err;
    assert!(
        !told.contains("ops code mint") && told.ends_with(said),
        "{told}"
    );
    assert_eq!(stack.apply(&limited).await.err, "", "it was so before");
    let receipts = format!("{CHAI}receipt: {{ ranges: [{{ name: Classic }}] }}\n");
    let said = "chai-bora-2026: receipts are looked up at the tax authority at 40 a minute, 2,400 an hour, for all \
                campaigns of the deployment together; what comes faster waits\n";
    assert_eq!(stack.apply(receipts).await.err, said);
}

#[tokio::test]
async fn partner_concurrency_is_that_of_the_env_file() {
    let stack = Stack::empty().await;
    let env = stack.env_with(&[(PARTNER_CONCURRENCY, "25")]);
    let file = stack.file("chai.yaml", with_partner());
    let told = run(&format!("campaign apply --yes {file}"), env, &stack.clock)
        .await
        .err;
    let said = "187 a minute while an answer takes 8 s, 1,500 at 1 s (PartnerConcurrency of the deployment: 25); what waits \
                after an outage is sent at 640 a minute at most\n";
    assert!(told.ends_with(said), "{told}");
}

#[tokio::test]
async fn a_partner_and_receipts_are_refused_together() {
    let stack = Stack::empty().await;
    let both = format!(
        "{}receipt: {{ ranges: [{{ name: Classic }}] }}\n",
        with_partner()
    );
    let file = stack.file("chai.yaml", both);
    let apply = format!("campaign apply --yes {file}");
    let error = stack.refused(apply, "campaign_file_invalid").await;
    assert_eq!(error.problems[0]["field"], "receipt");
}
