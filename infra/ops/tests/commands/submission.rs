//! `ops submission`.

use std::collections::BTreeSet;

use common::domain::campaign::{Campaign, PhoneLimits};
use common::domain::code_record::CodeKey;
use common::domain::codebook::{Batch, BatchStatus};
use common::domain::entrant::{Entrant, PhoneChecks};
use common::domain::ids::SubmissionId;
use common::domain::key_encryption::DeploymentSecret;
use common::domain::message::MessageKey;
use common::domain::partner::reply::{PartnerMessage, UpstreamCode};
use common::domain::scope::Environment;
use common::domain::settling::PendingSettlement;
use common::domain::submission::{DeclaredItem, DeclaredPurchase, Submission, SubmissionStatus};
use common::random;
use common::store::submission_writes::{RecordKeys, SubmissionWrite, WriteResult};
use serde_json::{Value, json};
use service_tests::service::{DEPLOYMENT_SECRET, entrant_id};

use crate::correction::by;
use crate::support::{NOW, Stack, chai, line, run};

pub(crate) const WHY: [&str; 2] = ["--why", "Receipt seen"];

/// A live submission of 0712 345 678; an unsettled one waits for an operator.
pub(crate) fn submission(
    id: SubmissionId,
    status: SubmissionStatus,
    code_key: Option<String>,
) -> Submission {
    let settling =
        (!status.is_terminal()).then(|| PendingSettlement::due_at(NOW, None).escalate(NOW));
    let (scope, secret) = (
        chai(Environment::Live),
        DeploymentSecret::new(DEPLOYMENT_SECRET).expect("long"),
    );
    let phone = "0712345678".parse().expect("a phone");
    Submission {
        submission_id: id,
        scope: scope.clone(),
        entrant_id: entrant_id(&scope, &phone),
        phone: secret.encrypt_phone(&scope, id, &phone, random::bytes()),
        code_key,
        batch: None,
        code_refusal: None,
        receipt_id: None,
        receipt: None,
        purchase: None,
        partner_code: None,
        upstream: None,
        status,
        reasons: Vec::new(),
        day: "2026-03-01".to_owned(),
        region: Some("Mwanza".to_owned()),
        claimed: None,
        consent: None,
        decision: None,
        approval: None,
        second_look: None,
        settling,
        revision: 0,
        created_at: NOW,
        updated_at: NOW,
        request_id: None,
        history: Vec::new(),
    }
}

/// Writes like the service.
pub(crate) async fn write(stack: &Stack, submission: &Submission, code: Option<&CodeKey>) {
    let key = format!("key-of-{}", submission.submission_id)
        .parse()
        .expect("a key");
    let tables = stack.tables().await;
    let write = SubmissionWrite {
        keys: RecordKeys {
            scope: &submission.scope,
            key: &key,
            entrant: &submission.entrant_id,
            code,
            receipt: submission.receipt_id,
        },
        body_hash: "",
        submission,
    };
    let campaign = tables
        .campaigns
        .get(&submission.scope.campaign)
        .await
        .expect("it answers");
    // All are one phone's.
    let limits = PhoneLimits::default();
    let campaign = Campaign {
        limits,
        ..campaign.expect("the campaign is applied")
    };
    let written = tables
        .store
        .create_admitted(
            write,
            &Entrant::default(),
            &campaign,
            PhoneChecks::default(),
            NOW,
        )
        .await
        .expect("it answers");
    assert!(matches!(written, WriteResult::Committed), "{written:?}");
}

/// The counts of that phone.
pub(crate) async fn entrant(stack: &Stack, submission: &Submission) -> Entrant {
    let Submission {
        scope,
        entrant_id,
        day,
        ..
    } = submission;
    stack
        .tables()
        .await
        .entrants
        .get(scope, entrant_id, day)
        .await
        .expect("it answers")
}

/// Waits for a person.
pub(crate) fn waiting() -> SubmissionStatus {
    let waiting = json!({
        "state": "pending",
        "review_status": "under_review",
        "message_key": "receipt_received",
        "entries": 0,
        "instant_win": null,
    });
    serde_json::from_value(waiting).expect("a standing")
}

/// A command's result once a second person runs it too.
async fn confirmed(stack: &Stack, command: &[&str]) -> Value {
    let ended = by(stack, "juma", [command, &WHY].concat()).await;
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    serde_json::from_str(&ended.out).expect("JSON")
}

/// A submission that waits for an operator and holds a batch's first code.
async fn with_one_waiting() -> (Stack, Submission) {
    let stack = Stack::with_chai().await;
    let mint = line("code mint --campaign chai-bora-2026 --environment live --count 2");
    let output = stack.arg("codes.csv");
    stack
        .fine(&[&mint[..], &["--output", &output, "--prize", "A kettle"]].concat())
        .await;
    let key = CodeKey::Minted(0);
    let code_key = Some(key.in_scope(&chai(Environment::Live)));
    let submission = submission(random::submission_id(), waiting(), code_key);
    write(&stack, &submission, Some(&key)).await;
    (stack, submission)
}

#[tokio::test]
async fn submission_is_shown_by_id_and_reference_with_masked_phone() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id.to_string();
    let by_id = stack.json(&["submission", "show", &id]).await;
    assert_eq!(by_id["submissions"][0]["phone"], "+2557•••••678");
    assert_eq!(
        by_id["submissions"][0]["display_status"],
        "receipt_in_review"
    );
    let reference = submission.reference().to_string().to_lowercase();
    assert_eq!(stack.json(&["submission", "show", &reference]).await, by_id);
    let text = stack.fine(&["submission", "show", &id]).await;
    assert!(
        text.contains("region          Mwanza\n") && !text.contains("712345"),
        "{text}"
    );
    let text = stack
        .fine(&["submission", "show", &id, "--show-phone"])
        .await;
    assert!(text.contains("+255712345678"), "{text}");
}

#[tokio::test]
async fn every_submission_of_a_reference_is_shown() {
    let (stack, first) = with_one_waiting().await;
    let twin = Submission {
        scope: chai(Environment::Test),
        // Encrypted for the other scope.
        phone: None,
        ..submission(
            first.submission_id,
            SubmissionStatus::accepted(1, None),
            None,
        )
    };
    write(&stack, &twin, None).await;
    let shown = stack
        .json(&["submission", "show", &first.reference().to_string()])
        .await;
    assert_eq!(shown["submissions"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn what_names_no_submission_is_refused() {
    let stack = Stack::with_chai().await;
    let id = random::submission_id().to_string();
    assert_eq!(
        stack.refused(&["submission", "show", &id]).await["code"],
        "submission_unknown"
    );
    assert_eq!(
        stack.refused(&["submission", "show", "K7M2-Q9XD"]).await["code"],
        "submission_unknown"
    );
    assert_eq!(
        stack.refused(&["submission", "show", "0712345678"]).await["code"],
        "name_invalid"
    );
    let settle = ["submission", "settle", &id, "--accept", "--why", "x"];
    assert_eq!(stack.refused(&settle).await["code"], "submission_unknown");
    let list = line("submission list --campaign nobody");
    assert_eq!(stack.refused(&list).await["code"], "campaign_unknown");
    assert_eq!(
        stack.refused(&[&list[..], &["--unsettled"]].concat()).await["code"],
        "campaign_unknown"
    );
}

#[tokio::test]
async fn a_list_can_be_of_those_that_are_not_settled() {
    let (stack, first) = with_one_waiting().await;
    write(
        &stack,
        &submission(
            random::submission_id(),
            SubmissionStatus::accepted(1, None),
            None,
        ),
        None,
    )
    .await;
    let list = line("submission list --campaign chai-bora-2026 --yes");
    let count = |document: Value| document["submissions"].as_array().map(Vec::len);
    assert_eq!(count(stack.json(&list).await), Some(2));
    assert_eq!(
        count(stack.json(&[&list[..], &["--limit", "1"]].concat()).await),
        Some(1)
    );
    assert_eq!(
        count(
            stack
                .json(&[&list[..], &["--environment", "test"]].concat())
                .await
        ),
        Some(0)
    );
    let unsettled = stack.json(&[&list[..], &["--unsettled"]].concat()).await;
    assert_eq!(
        unsettled["submissions"][0]["id"],
        json!(first.submission_id)
    );
    assert_eq!(count(unsettled), Some(1));
    let text = stack.fine(&list).await;
    assert!(
        text.contains("under_review") && text.contains("+2557•••••678"),
        "{text}"
    );
    assert!(!text.contains("712345"), "{text}");
}

#[tokio::test]
async fn accepting_redeems_the_code_and_gives_entries_and_prize() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id.to_string();
    let settle = ["submission", "settle", &id, "--accept"];
    stack.fine(&[&settle[..], &WHY].concat()).await;
    let settled = confirmed(&stack, &settle).await;
    assert_eq!(settled["state"], "accepted");
    assert_eq!(
        json!([settled["entries"], settled["instant_win"]]),
        json!([2, "A kettle"])
    );
    assert_eq!(
        settled["reasons"],
        json!(["instant_win", "operator_decision"])
    );
    // Minting takes a second of the clock.
    let decision = json!({
        "by": "asha",
        "identity": "arn:aws:iam::000000000000:user/local",
        "at": "2026-03-01T00:00:01.000Z",
        "why": "Receipt seen",
        "confirmed": { "by": "juma", "identity": "arn:aws:iam::000000000000:user/juma", "why": "Receipt seen" },
    });
    assert_eq!(settled["decision"], decision);
    let mut shown = stack.json(&["submission", "show", &id]).await["submissions"][0].clone();
    let source = shown
        .as_object_mut()
        .and_then(|fields| fields.remove("receipt_source"));
    assert_eq!((source, shown), (Some(json!(null)), settled));
    let tables = stack.tables().await;
    let record = tables
        .codes()
        .get(&submission.scope, &CodeKey::Minted(0))
        .await
        .expect("it answers");
    assert!(
        record
            .and_then(|record| record.hold)
            .is_some_and(|claim| claim.redeemed)
    );
    let entrant = entrant(&stack, &submission).await;
    assert_eq!(entrant.entries, 2);
}

#[tokio::test]
async fn rejecting_frees_the_code_and_gives_the_place_back() {
    let (stack, submission) = with_one_waiting().await;
    let reference = submission.reference().to_string();
    let reject = [
        "submission",
        "settle",
        &reference,
        "--reject",
        "receipt_wrong_store",
        "--by",
        "juma",
    ];
    let settled = stack.json(&[&reject[..], &WHY].concat()).await;
    assert_eq!(
        json!([settled["decision"]["by"], settled["settling"]]),
        json!(["juma", null])
    );
    assert_eq!(
        json!([settled["message_key"], settled["entries"]]),
        json!(["receipt_wrong_store", 0])
    );
    let tables = stack.tables().await;
    let record = tables
        .codes()
        .get(&submission.scope, &CodeKey::Minted(0))
        .await
        .expect("it answers");
    assert_eq!(record.and_then(|record| record.hold), None);
    let entrant = entrant(&stack, &submission).await;
    assert_eq!(entrant.total, 0);
}

#[tokio::test]
async fn a_settled_submission_is_not_settled_again() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id.to_string();
    let accept = ["submission", "settle", &id, "--accept"];
    stack.fine(&[&accept[..], &WHY].concat()).await;
    confirmed(&stack, &accept).await;
    let error = stack
        .refused(
            &[
                &["submission", "settle", &id, "--reject", "invalid"],
                &WHY[..],
            ]
            .concat(),
        )
        .await;
    assert_eq!(error["code"], "already_settled");
    assert!(
        error["message"]
            .as_str()
            .expect("a message")
            .contains("`instant_win` by asha"),
        "{error}"
    );
    let shown = stack.json(&["submission", "show", &id]).await;
    assert_eq!(shown["submissions"][0]["state"], "accepted");
    assert_eq!(
        shown["submissions"][0]["message_key"],
        json!(MessageKey::InstantWin)
    );
}

#[tokio::test]
async fn imported_code_keeps_its_prize_until_it_is_settled() {
    let stack = Stack::with_chai().await;
    let file = stack.file("brand.csv", "KETTLE-01\n");
    let import = [
        "code",
        "import",
        "--campaign",
        "chai-bora-2026",
        "--environment",
        "live",
        &file,
    ];
    stack
        .fine(&[&import[..], &["--allow-weak", "--prize", "A mug"]].concat())
        .await;
    let scope = chai(Environment::Live);
    let book = ops_core::codes::book::read(&stack.tables().await.code_books, &scope)
        .await
        .expect("a book");
    let Batch { name, status, .. } = book.batches[0].clone();
    assert_eq!(status, BatchStatus::Active);
    let code = CodeKey::Imported {
        digest: book.digest("KETTLE01"),
        batch: name,
    };
    let submission = submission(
        random::submission_id(),
        waiting(),
        Some(code.in_scope(&scope)),
    );
    write(&stack, &submission, Some(&code)).await;
    let id = submission.submission_id.to_string();
    let accept = ["submission", "settle", &id, "--accept"];
    stack.fine(&[&accept[..], &WHY].concat()).await;
    assert_eq!(confirmed(&stack, &accept).await["instant_win"], "A mug");
}

#[tokio::test]
async fn every_decision_says_who_and_why() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id.to_string();
    let accept = ["submission", "settle", &id, "--accept"];
    let ended = stack.run(&accept).await;
    assert!(
        ended.code == ops_core::EXIT_USAGE && ended.err.contains("--why <TEXT>"),
        "{}",
        ended.err
    );
    let error = stack
        .refused(&[&accept[..], &["--why", " "]].concat())
        .await;
    assert_eq!(error["code"], "words_invalid");
    let decide = async |by: &str| {
        let variables = [
            ("OPS_BY".to_owned(), by.to_owned()),
            ("USER".to_owned(), "juma".to_owned()),
        ];
        let env = stack
            .env
            .clone()
            .overridden_by(variables.into_iter().collect());
        run(&[&accept[..], &WHY].concat(), env, &stack.clock).await
    };
    let ended = decide("Asha, 0712 345 678").await;
    assert!(
        ended.code == ops_core::EXIT_FAILURE && ended.err.contains("OPS_BY"),
        "{}",
        ended.err
    );
    assert!(!ended.err.contains("345"), "{}", ended.err);
    let shown = stack.json(&["submission", "show", &id]).await;
    assert_eq!(shown["submissions"][0]["state"], "pending");
    let ended = decide("").await;
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    let shown = stack.json(&["submission", "show", &id]).await;
    let by = &shown["submissions"][0]["proposal"]["decision"]["by"];
    assert_eq!(*by, "local", "the name in the AWS identity");
}

#[tokio::test]
async fn text_of_consumers_and_partners_cannot_control_a_terminal() {
    let stack = Stack::with_chai().await;
    let claimed = DeclaredPurchase {
        items: vec![DeclaredItem {
            key: "chai\u{2028}250".to_owned(),
            qty: 2,
        }],
        branch: Some("du\u{1b}[2Jka".to_owned()),
    };
    let upstream = PartnerMessage {
        code: UpstreamCode::Text("N\u{200b}O".to_owned()),
        message: Some("no\u{2066}pe\n".to_owned()),
    };
    let written = Submission {
        region: Some("Mwa\u{202e}nza".to_owned()),
        claimed: Some(claimed),
        upstream: Some(upstream),
        ..submission(random::submission_id(), waiting(), None)
    };
    write(&stack, &written, None).await;
    let show = ["submission", "show", &written.submission_id.to_string()];
    let text = stack.fine(&show).await;
    for line in [
        "region            Mwa\\u{202e}nza\n",
        "claimed_items     2 x chai\\u{2028}250\n",
        "claimed_branch    du\\u{1b}[2Jka\n",
        "upstream_code     N\\u{200b}O\n",
        "upstream_message  no\\u{2066}pe\\n\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    let printed = stack.fine(&[&show[..], &["--json"]].concat()).await;
    assert!(
        !printed.contains(['\u{202e}', '\u{2028}', '\u{200b}', '\u{2066}']),
        "{printed}"
    );
    assert_eq!(
        stack.json(&show).await["submissions"][0]["region"],
        "Mwa\u{202e}nza",
        "JSON holds what it is"
    );
}

#[tokio::test]
async fn times_are_in_the_campaigns_zone_and_in_utc_for_programs() {
    let (stack, submission) = with_one_waiting().await;
    let show = ["submission", "show", &submission.submission_id.to_string()];
    let text = stack.fine(&show).await;
    assert!(
        text.contains("created_at      2026-03-01 03:00:00 Africa/Dar_es_Salaam\n"),
        "{text}"
    );
    assert_eq!(
        stack.json(&show).await["submissions"][0]["created_at"],
        "2026-03-01T00:00:00.000Z"
    );
    let listed = stack
        .fine(&line("submission list --campaign chai-bora-2026 --yes"))
        .await;
    assert!(
        listed.contains("Times are those of Africa/Dar_es_Salaam.\n"),
        "{listed}"
    );
    assert!(listed.contains("2026-03-01 03:00:00\n"), "{listed}");
}

#[tokio::test]
async fn indexes_answer_by_phone_code_reference_and_open_state() {
    let (stack, first) = with_one_waiting().await;
    let other = submission(
        random::submission_id(),
        SubmissionStatus::accepted(1, None),
        None,
    );
    write(&stack, &other, None).await;
    let list = line("submission list --campaign chai-bora-2026");
    let found = async |options: &[&str]| {
        let document = stack.json(&[&list[..], options].concat()).await;
        let found = document["submissions"].as_array().expect("a list").clone();
        found
            .iter()
            .map(|one| one["ref"].as_str().expect("a reference").to_owned())
            .collect::<BTreeSet<_>>()
    };
    let [first, other] = [&first, &other].map(|submission| submission.reference().to_string());
    let codes = std::fs::read_to_string(stack.path("codes.csv")).expect("codes");
    let held = codes
        .lines()
        .find(|line| line.starts_with(|c: char| !c.is_lowercase()))
        .expect("a code");
    let both = BTreeSet::from([first.clone(), other.clone()]);
    let (first, other, none) = (
        BTreeSet::from([first]),
        BTreeSet::from([other]),
        BTreeSet::new(),
    );
    for (options, expected) in [
        (&["--phone", "0712 345 678"][..], &both),
        (&["--phone", "0712345678", "--state", "accepted"], &other),
        (&["--phone", "0712345679"], &none),
        (&["--code", held], &first),
        (&["--code", "NO-SUCH-CODE"], &none),
        (&["--ref", other.first().expect("one")], &other),
        (&["--ref", "K7M2-Q9XD"], &none),
        (&["--state", "pending"], &first),
        (&["--state", "unknown"], &none),
    ] {
        assert_eq!(&found(options).await, expected, "{options:?}");
    }
    assert_eq!(
        stack
            .refused(&[&list[..], &["--phone", "12"]].concat())
            .await["code"],
        "phone_invalid"
    );
    let sentinel = [&list[..], &["--code", "TEST-0-VALID"]].concat();
    assert_eq!(stack.refused(&sentinel).await["code"], "code_invalid");
}

#[tokio::test]
async fn list_of_the_whole_table_asks_first_at_a_terminal() {
    let (stack, _) = with_one_waiting().await;
    for options in [&[][..], &["--state", "accepted"], &["--state", "rejected"]] {
        let list = [
            &line("submission list --campaign chai-bora-2026")[..],
            options,
        ]
        .concat();
        let unasked = stack.run(&list).await;
        assert_eq!(unasked.code, ops_core::EXIT_OK, "{}", unasked.err);
        assert!(
            unasked
                .err
                .contains("this takes about a minute for ten million submissions"),
            "{}",
            unasked.err
        );
        let asked = stack.answering(&list, "y\n").await;
        assert!(
            asked.code == ops_core::EXIT_OK
                && asked
                    .err
                    .contains("takes about a minute for ten million submissions"),
            "{}",
            asked.err
        );
        assert_eq!(
            stack.answering(&list, "n\n").await.code,
            ops_core::EXIT_FAILURE
        );
    }
}
