//! `ops submission`.

use std::collections::BTreeSet;

use common::domain::campaign::{Campaign, PhoneLimits};
use common::domain::code_record::{CodeHold, CodeKey};
use common::domain::codebook::{Batch, BatchStatus};
use common::domain::entrant::{Entrant, PhoneChecks};
use common::domain::key_encryption::DeploymentSecret;
use common::domain::partner::reply::{PartnerMessage, UpstreamCode};
use common::domain::scope::Environment;
use common::domain::settling::PendingSettlement;
use common::domain::submission::{
    Channel, DeclaredItem, DeclaredPurchase, Submission, SubmissionStatus,
};
use common::random;
use common::store::submission_writes::{RecordKeys, SubmissionWrite, WriteResult};
use serde_json::json;
use service_tests::service::{DEPLOYMENT_SECRET, entrant_id};
use service_tests::text::{fields, len_of, list_of, text_of};

use crate::support::{NOW, Stack, chai, live};

pub(crate) const WHY: &str = "--why 'Receipt seen'";

/// A live submission of 0712 345 678; an unsettled one waits for an operator.
pub(crate) fn submission(status: SubmissionStatus, code_key: Option<String>) -> Submission {
    let settling =
        (!status.is_terminal()).then(|| PendingSettlement::due_at(NOW, None).escalate(NOW));
    let (scope, secret) = (
        live(),
        DeploymentSecret::new(DEPLOYMENT_SECRET).expect("long"),
    );
    let phone = "0712345678".parse().expect("a phone");
    let id = random::submission_id();
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
        channel: Some(Channel::Sms),
        claimed: None,
        consent: None,
        decision: None,
        approval: None,
        spot_check: None,
        settling,
        notify: false,
        revision: 0,
        created_at: NOW,
        updated_at: NOW,
        test_shift: None,
        request_id: None,
        history: Vec::new(),
    }
}

/// Writes like the service.
pub(crate) async fn write(stack: &Stack, submission: &Submission, code: Option<&CodeKey>) {
    let key = format!("key-of-{}", submission.submission_id)
        .parse()
        .expect("a key");
    let tables = stack.tables();
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
            None,
            NOW,
        )
        .await
        .expect("it answers");
    assert!(matches!(written, WriteResult::Committed), "{written:?}");
}

/// Writes it as holder of the minted code with this number.
pub(crate) async fn holding(stack: &Stack, serial: u64, made: Submission) -> Submission {
    let key = CodeKey::Minted(serial);
    let code_key = Some(key.in_scope(&made.scope));
    let made = Submission { code_key, ..made };
    write(stack, &made, Some(&key)).await;
    made
}

/// Writes an accepted submission without a code.
pub(crate) async fn accepted(stack: &Stack, entries: u32) -> Submission {
    let accepted = submission(SubmissionStatus::accepted(entries, None), None);
    write(stack, &accepted, None).await;
    accepted
}

/// The submission that has the first minted code.
pub(crate) async fn hold(stack: &Stack) -> Option<CodeHold> {
    let tables = stack.tables();
    let record = tables.codes().get(&live(), &CodeKey::Minted(0)).await;
    record.expect("it answers")?.hold
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

/// A submission that waits for an operator and holds a batch's first code.
async fn with_one_waiting() -> (Stack, Submission) {
    let stack = Stack::with_chai().await;
    stack.mint("2 --prize 'A kettle'").await;
    let submission = holding(&stack, 0, submission(waiting(), None)).await;
    (stack, submission)
}

#[tokio::test]
async fn submission_is_shown_by_id_and_reference_with_masked_phone() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id;
    let by_id = stack.shown(id).await;
    assert_eq!(
        fields(&by_id, "phone display_status"),
        "+2557•••••678 receipt_in_review"
    );
    let reference = submission.reference().to_string().to_lowercase();
    assert_eq!(stack.shown(reference).await, by_id);
    let show = format!("submission show {id}");
    let text = stack.fine(&show).await;
    assert_contains!(text, "region          Mwanza\n", "channel         sms\n");
    assert_lacks!(text, "712345");
    let text = stack.fine(show + " --show-phone").await;
    assert_contains!(text, "+255712345678");
}

#[tokio::test]
async fn every_submission_of_a_reference_is_shown() {
    let (stack, first) = with_one_waiting().await;
    let twin = Submission {
        scope: chai(Environment::Test),
        // Encrypted for the other scope.
        phone: None,
        submission_id: first.submission_id,
        ..submission(SubmissionStatus::accepted(1, None), None)
    };
    write(&stack, &twin, None).await;
    let shown = stack
        .json(format!("submission show {}", first.reference()))
        .await;
    assert_eq!(len_of(&shown["submissions"]), 2);
}

#[tokio::test]
async fn what_names_no_submission_is_refused() {
    let stack = Stack::with_chai().await;
    let id = random::submission_id();
    for (command, code) in [
        (&format!("show {id}"), "submission_unknown"),
        (&"show K7M2-Q9XD".to_owned(), "submission_unknown"),
        (&"show 0712345678".to_owned(), "name_invalid"),
        (
            &format!("settle {id} --accept --why x"),
            "submission_unknown",
        ),
        (&"list --campaign nobody".to_owned(), "campaign_unknown"),
        (
            &"list --campaign nobody --unsettled".to_owned(),
            "campaign_unknown",
        ),
    ] {
        stack.refused(format!("submission {command}"), code).await;
    }
}

#[tokio::test]
async fn a_list_can_be_of_those_that_are_not_settled() {
    let (stack, first) = with_one_waiting().await;
    accepted(&stack, 1).await;
    let list = "submission list --campaign chai-bora-2026 --yes";
    let count = async |options: &str| {
        let document = stack.json(format!("{list} {options}")).await;
        len_of(&document["submissions"])
    };
    assert_eq!(count("").await, 2);
    assert_eq!(count("--limit 1").await, 1);
    assert_eq!(count("--environment test").await, 0);
    assert_eq!(count("--unsettled").await, 1);
    let unsettled = stack.json(format!("{list} --unsettled")).await;
    assert_eq!(
        unsettled["submissions"][0]["id"],
        json!(first.submission_id)
    );
    let text = stack.fine(&list).await;
    assert_contains!(text, "under_review", "+2557•••••678");
    assert_lacks!(text, "712345");
}

#[tokio::test]
async fn accepting_redeems_the_code_and_gives_entries_and_prize() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id;
    let settle = format!("submission settle {id} --accept {WHY}");
    stack.fine(&settle).await;
    let settled = stack.json_by("juma", settle).await;
    assert_eq!(
        fields(&settled, "state entries instant_win reasons"),
        r#"accepted 2 A kettle ["instant_win","operator_decision"]"#
    );
    // Minting takes a second of the clock.
    insta::assert_snapshot!(format!("{:#}", settled["decision"]), @r#"
    {
      "at": "2026-03-01T00:00:01.000Z",
      "by": "asha",
      "confirmed": {
        "by": "juma",
        "identity": "arn:aws:iam::000000000000:user/juma",
        "why": "Receipt seen"
      },
      "identity": "arn:aws:iam::000000000000:user/local",
      "why": "Receipt seen"
    }
    "#);
    let mut shown = stack.shown(id).await;
    let source = shown
        .as_object_mut()
        .and_then(|fields| fields.remove("receipt_source"));
    assert_eq!((source, shown), (Some(json!(null)), settled));
    assert!(hold(&stack).await.is_some_and(|hold| hold.redeemed));
    let entrant = entrant(&stack, &submission).await;
    assert_eq!(entrant.entries, 2);
}

#[tokio::test]
async fn rejecting_frees_the_code_and_gives_the_place_back() {
    let (stack, submission) = with_one_waiting().await;
    let reference = submission.reference().to_string();
    let reject = "--reject receipt_wrong_store --by juma";
    let settled = stack
        .json(format!("submission settle {reference} {reject} {WHY}"))
        .await;
    assert_eq!(
        fields(&settled, "decision.by settling message_key entries"),
        "juma null receipt_wrong_store 0"
    );
    assert_eq!(hold(&stack).await, None);
    assert_eq!(entrant(&stack, &submission).await.total, 0);
}

#[tokio::test]
async fn a_settled_submission_is_not_settled_again() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id;
    let accept = format!("submission settle {id} --accept {WHY}");
    stack.fine(&accept).await;
    stack.json_by("juma", accept).await;
    let error = stack
        .refused(
            format!("submission settle {id} --reject invalid {WHY}"),
            "already_settled",
        )
        .await;
    assert_contains!(error.message, "`instant_win` by asha");
    let shown = stack.shown(id).await;
    assert_eq!(fields(&shown, "state message_key"), "accepted instant_win");
}

#[tokio::test]
async fn imported_code_keeps_its_prize_until_it_is_settled() {
    let stack = Stack::with_chai().await;
    let file = stack.file("brand.csv", "KETTLE-01\n");
    let import = format!("code import --campaign chai-bora-2026 --environment live {file}");
    stack
        .fine(format!("{import} --allow-weak --prize 'A mug'"))
        .await;
    let (scope, book) = (live(), stack.book().await);
    let Batch { name, status, .. } = book.batches[0].clone();
    assert_eq!(status, BatchStatus::Active);
    let code = CodeKey::Imported {
        digest: book.digest("KETTLE01"),
        batch: name,
    };
    let submission = submission(waiting(), Some(code.in_scope(&scope)));
    write(&stack, &submission, Some(&code)).await;
    let id = submission.submission_id;
    let accept = format!("submission settle {id} --accept {WHY}");
    stack.fine(&accept).await;
    assert_eq!(stack.json_by("juma", accept).await["instant_win"], "A mug");
}

#[tokio::test]
async fn every_decision_says_who_and_why() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id;
    let accept = format!("submission settle {id} --accept");
    let ended = stack.run(&accept).await.misused();
    assert_contains!(ended, "--why <TEXT>");
    stack
        .refused(format!("{accept} --why ' '"), "words_invalid")
        .await;
    let decide = async |by: &str| {
        let variables = [("OPS_BY", by), ("USER", "juma")];
        stack.run_with(&variables, format!("{accept} {WHY}")).await
    };
    let said = decide("Asha, 0712 345 678").await.failed();
    assert_contains!(said, "OPS_BY");
    assert_lacks!(said, "345");
    assert_eq!(stack.shown(id).await["state"], "pending");
    decide("").await.fine();
    let by = &stack.shown(id).await["proposal"]["decision"]["by"];
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
        ..submission(waiting(), None)
    };
    write(&stack, &written, None).await;
    let show = format!("submission show {}", written.submission_id);
    let text = stack.fine(&show).await;
    assert_contains!(
        text,
        "region            Mwa\\u{202e}nza\n",
        "claimed_items     2 x chai\\u{2028}250\n",
        "claimed_branch    du\\u{1b}[2Jka\n",
        "upstream_code     N\\u{200b}O\n",
        "upstream_message  no\\u{2066}pe\\n\n"
    );
    let printed = stack.fine(format!("{show} --json")).await;
    assert!(
        !printed.contains(['\u{202e}', '\u{2028}', '\u{200b}', '\u{2066}']),
        "{printed}"
    );
    let shown = stack.shown(written.submission_id).await;
    assert_eq!(shown["region"], "Mwa\u{202e}nza");
}

#[tokio::test]
async fn times_are_in_the_campaigns_zone_and_in_utc_for_programs() {
    let (stack, submission) = with_one_waiting().await;
    let id = submission.submission_id;
    let text = stack.fine(format!("submission show {id}")).await;
    assert_contains!(
        text,
        "created_at      2026-03-01 03:00:00 Africa/Dar_es_Salaam\n"
    );
    let created_at = &stack.shown(id).await["created_at"];
    assert_eq!(created_at, "2026-03-01T00:00:00.000Z");
    let listed = stack
        .fine("submission list --campaign chai-bora-2026 --yes")
        .await;
    assert_contains!(listed, "Times are those of Africa/Dar_es_Salaam.\n");
}

#[tokio::test]
async fn indexes_answer_by_phone_code_reference_and_open_state() {
    let (stack, first) = with_one_waiting().await;
    let other = accepted(&stack, 1).await;
    let list = "submission list --campaign chai-bora-2026";
    let found = async |options: &str| {
        let document = stack.json(format!("{list} {options}")).await;
        let found = list_of(&document["submissions"]).iter();
        found
            .map(|one| text_of(&one["ref"]).to_owned())
            .collect::<BTreeSet<_>>()
    };
    let [first, other] = [&first, &other].map(|submission| submission.reference().to_string());
    let codes = stack.read("codes.csv");
    let held = codes.lines().nth(1).expect("a code");
    for (options, expected) in [
        ("--phone '0712 345 678'", &[&first, &other][..]),
        ("--phone 0712345678 --state accepted", &[&other]),
        ("--phone 0712345679", &[]),
        (&format!("--code {held}"), &[&first]),
        ("--code NO-SUCH-CODE", &[]),
        (&format!("--ref {other}"), &[&other]),
        ("--ref K7M2-Q9XD", &[]),
        ("--state pending", &[&first]),
        ("--state unknown", &[]),
    ] {
        let expected = expected.iter().map(ToString::to_string).collect();
        assert_eq!(found(options).await, expected, "{options:?}");
    }
    stack
        .refused(format!("{list} --phone 12"), "phone_invalid")
        .await;
    let sentinel = format!("{list} --code TEST-0-VALID");
    stack.refused(&sentinel, "code_invalid").await;
}

#[tokio::test]
async fn list_of_the_whole_table_asks_first_at_a_terminal() {
    let (stack, _) = with_one_waiting().await;
    for options in ["", "--state accepted", "--state rejected"] {
        let list = format!("submission list --campaign chai-bora-2026 {options}");
        let said = "takes about a minute for ten million submissions";
        assert_contains!(stack.run(&list).await.fine().err, said);
        assert_contains!(stack.answering(&list, "y\n").await.fine().err, said);
        stack.answering(&list, "n\n").await.failed();
    }
}
