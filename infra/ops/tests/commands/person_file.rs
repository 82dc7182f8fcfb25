//! `ops person`: the page in its file, and refused numbers.

use std::fs::File;
use std::io::Read;

use common::domain::message::{Language, MessageKey};
use common::domain::partner::reply::{PartnerMessage, UpstreamCode};
use common::domain::receipt::judgement::ReceiptSummary;
use common::domain::submission::approval::{Acceptance, Approval, ProposedChange};
use common::domain::submission::correction::Correction;
use common::domain::submission::spot_check::SpotCheck;
use common::domain::submission::{
    Confirmation, Consent, DeclaredItem, DeclaredPurchase, OperatorDecision, PastState, Submission,
    SubmissionStatus,
};
use serde_json::{Value, json};
use service_tests::text::len_of;

use crate::draw::{entered, freeze};
use crate::review::{photo, typed, with_receipt};
use crate::submission::{submission, write};
use crate::support::{NOW, Stack};

const PHONE: &str = "0712345678";

/// `person.json` and `person.html`.
async fn exported(stack: &Stack) -> (Value, String) {
    let path = stack.arg("person.zip");
    stack
        .fine(format!("person export --phone {PHONE} --output {path}"))
        .await;
    let mut zip = zip::ZipArchive::new(File::open(&path).expect("a file")).expect("a ZIP file");
    let mut text = |name: &str| {
        let mut text = String::new();
        zip.by_name(name)
            .expect("it is there")
            .read_to_string(&mut text)
            .expect("text");
        text
    };
    (
        serde_json::from_str(&text("person.json")).expect("JSON"),
        text("person.html"),
    )
}

fn decision() -> OperatorDecision {
    let (by, why) = ("asha".to_owned(), Some("Receipt seen".to_owned()));
    let confirmed = Some(Confirmation {
        by: "juma".to_owned(),
        why: why.clone(),
        identity: None,
    });
    OperatorDecision {
        by,
        at: NOW,
        why,
        confirmed,
        identity: Some("user/asha".to_owned()),
    }
}

/// A submission with everything, settled or not.
fn full(submission: Submission) -> Submission {
    let past = PastState {
        at: NOW,
        status: SubmissionStatus::checking(),
        reasons: vec!["reopened".to_owned()],
        is_under_way: true,
        anomaly: Some("a page of another kind".to_owned()),
        decision: Some(decision()),
    };
    let items = vec![DeclaredItem {
        key: "chai".to_owned(),
        qty: 2,
    }];
    Submission {
        claimed: Some(DeclaredPurchase {
            items,
            branch: Some("Duka <Kuu>".to_owned()),
        }),
        consent: Some(Consent {
            version: Some("1".to_owned()),
            language: Language::Sw,
        }),
        upstream: Some(PartnerMessage {
            code: UpstreamCode::Number(7),
            message: Some("used".to_owned()),
        }),
        receipt: Some(ReceiptSummary {
            date: Some("2026-03-01".to_owned()),
            branch: None,
            items_summary: None,
            counted_entries: Some(2),
        }),
        decision: Some(decision()),
        spot_check: Some(SpotCheck {
            by: "neema".to_owned(),
            at: NOW,
            rejects: Some(MessageKey::ReceiptWrongStore),
            agrees: false,
        }),
        history: vec![past],
        ..submission
    }
}

/// Submissions of each kind, and a draw's prize.
async fn with_person() -> Stack {
    let stack = Stack::with_chai().await;
    entered(&stack, PHONE, 1).await;
    stack.fine(freeze(&stack, "week", "--prize Kettle=1")).await;
    let draw = "--campaign chai-bora-2026 --draw week";
    stack.fine(format!("draw run {draw}")).await;
    for step in [
        "call --outcome reached",
        "confirm",
        "skip --reason not-collected --inspector Neema --yes",
    ] {
        stack.fine(format!("draw {step} {draw} --winner 1")).await;
    }
    with_receipt(&stack, typed(), full).await;
    let (entries, purchase) = (1, None);
    let first = Approval {
        change: ProposedChange::Accept(Acceptance { entries, purchase }),
        decision: decision(),
    };
    let proposed = |left: Submission| Submission {
        approval: Some(first),
        ..full(left)
    };
    with_receipt(&stack, photo(Some("https://verify.tra.go.tz/AB")), proposed).await;
    let correction = Correction::Revoke {
        free_code: true,
        keep_prize: false,
    };
    let approval = Approval {
        change: ProposedChange::Correct(correction),
        decision: decision(),
    };
    let won = SubmissionStatus::accepted(1, Some("A kettle".to_owned()));
    let won = Submission {
        approval: Some(approval),
        ..full(submission(won, None))
    };
    write(&stack, &won, None).await;
    stack
}

#[tokio::test]
async fn page_tells_each_entry_in_swahili_and_in_english() {
    let stack = with_person().await;
    let (data, page) = exported(&stack).await;
    assert_eq!(len_of(&data["campaigns"][0]["submissions"]), 4);
    assert_eq!(page.matches("What happened").count(), 4, "{page}");
    assert_contains!(
        page,
        "<html lang=\"sw\">",
        "Personal data of the number</span> +255712345678</h1>",
        "<h2>Chai Bora Shinda</h2>",
        "1 Machi 2026 / <span lang=\"en\">1 March 2026</span>, 03:00 · ",
        "<dt>Kilichotokea / <span lang=\"en\">What happened</span></dt>",
        "<span lang=\"en\">You are in!</span>",
        "<dd>A kettle</dd>",
        "2 x chai",
        "Duka &lt;Kuu&gt;",
        "<h3>Droo / <span lang=\"en\">Draw</span>: Kettle</h3>",
        "Called and reached",
        "The prize went to the next in the order",
        "<img src=\"photos/"
    );
    assert_lacks!(
        page,
        "receipt_received",
        "chai-bora-2026",
        "2026-03-01T",
        "Neema",
        "asha"
    );
    let file = File::open(stack.arg("person.zip")).expect("a file");
    let mut zip = zip::ZipArchive::new(file).expect("a ZIP file");
    let written = zip
        .by_name("person.json")
        .expect("it is there")
        .last_modified()
        .expect("a time");
    assert_contains!(written.to_string(), "2026-03-01 03:");
}

#[tokio::test]
async fn phone_is_asked_for_wherever_it_is_given_as_a_dash() {
    let stack = Stack::with_chai().await;
    entered(&stack, PHONE, 1).await;
    let export = format!(
        "person export --phone - --output {}",
        stack.arg("asked.zip")
    );
    for command in [
        "person find --phone -",
        &export,
        "submission list --campaign chai-bora-2026 --phone -",
        "phone block --campaign chai-bora-2026 --why 'Sells codes' -",
        "phone unblock --campaign chai-bora-2026 --why 'A mistake' -",
        "person erase --phone - --why 'Letter of 3 March' --yes",
    ] {
        let ended = stack.answering(command, "0712 345 678\n").await.fine();
        assert_contains!(ended.err, "Phone: ");
        assert_contains!(ended.out, "+2557•••••678");
    }
}

#[tokio::test]
async fn a_phone_of_another_country_is_refused_without_repeating_it() {
    let stack = Stack::with_chai().await;
    let output = stack.arg("person.zip");
    for command in [
        "person find --phone",
        &format!("person export --output {output} --phone"),
        "person erase --why 'Letter of 3 March' --yes --phone",
        "phone block --campaign chai-bora-2026 --why sells",
    ] {
        for phone in ["+254712345678", "254 712 345 678", "+1 202 555 0123"] {
            let message = stack
                .refused(format!("{command} '{phone}'"), "phone_invalid")
                .await
                .message;
            assert_contains!(message, "Tanzanian");
            assert_lacks!(message, "254", "555");
        }
    }
    assert!(!stack.path("person.zip").exists());
    assert_eq!(stack.audit_actions().await, ["campaign.apply"]);
    let found = stack.json("person find --phone 0712000000").await;
    assert_eq!(found["held"], json!([]));
}
