//! The list of campaigns, and the form of one.

use common::domain::settling::PendingSettlement;
use common::domain::submission::Submission;

use super::SignedIn;
use crate::submission::{submission, waiting, write};
use crate::support::{CHAI, NOW, Stack};

#[tokio::test]
async fn campaigns_are_found_by_status_brand_and_text() {
    let stack = Stack::with_chai().await;
    let soda = CHAI
        .replace("chai-bora-2026", "soda-2026")
        .replace("Chai Bora", "Soda Rush");
    stack.apply(&soda).await;
    let juice = soda
        .replace("soda-2026", "juice-2026")
        .replace("Soda", "Juice");
    stack.apply(juice).await;
    stack.fine("campaign pause soda-2026").await;
    stack.fine("campaign pause juice-2026").await;
    stack.fine("campaign archive juice-2026").await;
    let operator = SignedIn::to(&stack).await;
    for (query, shown) in [
        ("", vec!["chai", "soda"]),
        ("?status=paused", vec!["soda"]),
        ("?status=archived", vec!["juice"]),
        ("?text=CHAI+bora", vec!["chai"]),
        ("?text=2026&status=live", vec!["chai"]),
        ("?text=nothing", vec![]),
    ] {
        let page = operator.page(&format!("/{query}")).await;
        for name in ["chai", "soda", "juice"] {
            let link = match name {
                "chai" => "href=\"/campaigns/chai-bora-2026/live\"".to_owned(),
                name => format!("href=\"/campaigns/{name}-2026/live\""),
            };
            assert_eq!(
                page.contains(&link),
                shown.contains(&name),
                "{query} {name}"
            );
        }
    }
}

#[tokio::test]
async fn campaigns_say_how_many_wait_for_a_person() {
    let stack = Stack::with_chai().await;
    let left = Submission {
        settling: Some(PendingSettlement::due_at(NOW, None).escalate(NOW)),
        ..submission(waiting(), None)
    };
    write(&stack, &left, None).await;
    let page = SignedIn::to(&stack).await.page("/").await;
    assert_contains!(
        page,
        "<a class=\"waiting\" href=\"/campaigns/chai-bora-2026/live/review\">1<span",
        "href=\"/campaigns/new\">New campaign</a>",
        "<span class=\"pill good\">live</span>"
    );
}

const NEW: &str = "/campaigns/new";
const EDIT: &str = "/campaigns/chai-bora-2026/edit";

/// The fields of [`CHAI`], encoded, but the name.
const FIELDS: &str = "slug=chai-bora-2026&brand=Chai+Bora&timezone=Africa%2FDar_es_Salaam\
                      &window.start=2026-01-01T00%3A00&code.checked_by=service&limits.phone_daily=3\
                      &limits.phone_total=20&entries_per_submission=2&messages.en.entered=You+are+in%21";

fn sent(action: &str, revision: u64, more: &str) -> String {
    format!("do={action}&revision={revision}&{FIELDS}&{more}")
}

#[tokio::test]
async fn campaign_is_made_from_the_form_after_a_look() {
    let stack = Stack::empty().await;
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(NEW).await;
    assert_contains!(
        page,
        "name=\"timezone\" type=\"text\" value=\"Africa/Dar_es_Salaam\"",
        "id=\"messages.sw.campaign_paused\"",
        "placeholder=\"Kampeni imesimamishwa kwa muda. Jaribu tena baadaye.\"",
        "name=\"receipt.products\"",
        "ops console --port"
    );
    assert!(page.len() < 150_000, "{}", page.len());
    let name = "name=Chai+Bora+Shinda";
    let looked = operator.followed(NEW, &sent("check", 0, name)).await;
    assert_contains!(
        looked,
        "The campaign is new",
        "<td>When it takes entries: Begins</td><td>2026-01-01 00:00:00 Africa/Dar_es_Salaam</td>",
        "value=\"apply\">Create the campaign</button>"
    );
    assert_eq!(stack.audit_actions().await, Vec::<String>::new());
    // Sent twice, it is made once.
    for _ in 0..2 {
        let made = operator.post_for(303, NEW, &sent("apply", 0, name)).await;
        assert_eq!(made.headers["location"], "/campaigns/chai-bora-2026/live");
    }
    let again = stack.apply(CHAI).await;
    assert_eq!(again.out, "chai-bora-2026 unchanged\n");
    assert_eq!(stack.audit_actions().await, ["campaign.apply"]);
    let history = stack.json("campaign history chai-bora-2026").await;
    assert_contains!(history["history"][0]["by"].to_string(), "asha");
    // Its form is that of the file.
    let page = operator.page(EDIT).await;
    assert_contains!(
        page,
        "name=\"revision\" value=\"1\"",
        "value=\"2026-01-01T00:00\"",
        "readonly"
    );
}

#[tokio::test]
async fn problems_stand_beside_their_fields_and_nothing_is_lost() {
    let stack = Stack::empty().await;
    let operator = SignedIn::to(&stack).await;
    let wrong = "name=&window.end=2025-12-31T00%3A00&receipt=on&receipt.ranges=Classic\
                 &receipt.products=chai+%7C+Clasic+%7C+250+g+%7C+Chai+%7C+%7C+%7C+CHAI&consent.en=I+%3Cagree";
    for action in ["check", "apply", "file"] {
        let refused = operator.post_for(422, NEW, &sent(action, 0, wrong)).await;
        assert_contains!(
            refused.text,
            "3 things are not right yet. Nothing was changed.",
            "<a href=\"#window.end\">",
            "<p class=\"wrong\">must be later than “Begins”</p>",
            "<p class=\"wrong\">is missing; add it, such as <code>name: Chai Bora Shinda</code></p>",
            "line 1, range is not a range of this file; did you mean <code>Classic</code>?",
            "I &lt;agree",
            "You are in!"
        );
    }
    assert_eq!(stack.audit_actions().await, Vec::<String>::new());
}

#[tokio::test]
async fn change_has_its_consequences_and_a_later_one_is_told() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let paused = "name=Chai&window.end=2026-02-01T00%3A00";
    let looked = operator.followed(EDIT, &sent("check", 1, paused)).await;
    assert_contains!(
        looked,
        "<del>Chai Bora Shinda</del> → Chai",
        "<strong>the window ends in the past: no more entries are taken</strong>"
    );
    // Another operator changes it in between.
    stack
        .apply(CHAI.replace("phone_daily: 3", "phone_daily: 5"))
        .await;
    for action in ["check", "apply"] {
        let refused = operator.post_for(409, EDIT, &sent(action, 1, paused)).await;
        assert_contains!(
            refused.text,
            "the campaign was changed after you opened this form, by asha",
            "<td>Limits of one phone: Submissions a day</td><td><del>3</del> → 5</td>",
            "name=\"name\" type=\"text\" value=\"Chai\"",
            "name=\"revision\" value=\"2\""
        );
    }
    operator
        .post_for(303, EDIT, &sent("apply", 2, paused))
        .await;
    let shown = stack.json("campaign show chai-bora-2026").await;
    assert_eq!(
        (&shown["name"], &shown["limits"]["phone_daily"]),
        (&"Chai".into(), &3.into())
    );
    let unchanged = operator.followed(EDIT, &sent("check", 3, paused)).await;
    assert_contains!(unchanged, "Nothing changes");
}

#[tokio::test]
async fn a_slug_is_neither_taken_over_nor_changed() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let taken = operator
        .post_for(409, NEW, &sent("apply", 0, "name=Other"))
        .await;
    assert_contains!(
        taken.text,
        "<code>chai-bora-2026</code> exists already; choose another"
    );
    let other = sent("apply", 1, "name=Other").replace("chai-bora-2026", "soda-2026");
    let refused = operator.post_for(422, EDIT, &other).await;
    assert_contains!(refused.text, "cannot be changed: this form is that of");
    assert_eq!(operator.status("GET", "/campaigns/other/edit").await, 404);
}

#[tokio::test]
async fn what_cannot_be_undone_is_typed_and_open_doors_are_ticked() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let deletes =
        "name=Chai+Bora+Shinda&window.end=2026-01-20T00%3A00&retention=on&retention.phones_days=1";
    let looked = operator.followed(EDIT, &sent("check", 1, deletes)).await;
    assert_contains!(
        looked,
        "The deletion of the phones of this campaign begins within the hour."
    );
    for typed in ["", "&typed=chai"] {
        let fields = sent("apply", 1, &format!("{deletes}{typed}"));
        operator.post_for(422, EDIT, &fields).await;
    }
    let fields = sent("apply", 1, &format!("{deletes}&typed=chai-bora-2026"));
    operator.post_for(303, EDIT, &fields).await;
    let open = sent("apply", 0, "name=Open")
        .replace("checked_by=service", "checked_by=none")
        .replace("chai-bora-2026", "open-2026");
    let refused = operator.post_for(422, NEW, &open).await;
    assert_contains!(
        refused.text,
        "asks for neither a code nor a receipt",
        "Nothing was changed"
    );
    operator
        .post_for(303, NEW, &format!("{open}&anyone=on"))
        .await;
}

#[tokio::test]
async fn form_gives_and_takes_a_file() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let file = operator
        .followed(EDIT, &sent("file", 1, "name=Chai+Bora+Shinda"))
        .await;
    let yaml = stack.fine("campaign show chai-bora-2026 --yaml").await;
    let quoted = yaml.trim().replace('"', "&quot;");
    assert_contains!(file, quoted);
    let pasted = "do=paste&revision=0&yaml=slug%3A+soda-2026%0Aname%3A+Soda%0Abrand%3A+S%0Atimezone%3A+UTC%0Acode%3A+%7B+checked_by%3A+none+%7D";
    let filled = operator.post_for(200, NEW, pasted).await;
    assert_contains!(
        filled.text,
        "value=\"soda-2026\"",
        "<option value=\"none\" selected>",
        "Nothing is changed yet"
    );
    let wrong = pasted.replace("none", "nobody") + "&brand=Typed+before";
    let wrong = operator.post_for(422, NEW, &wrong).await;
    assert_contains!(wrong.text, "value=\"Typed before\"");
    let like = operator.page("/campaigns/new?like=chai-bora-2026").await;
    assert_contains!(
        like,
        "value=\"Chai Bora Shinda\"",
        "name=\"slug\" type=\"text\" value=\"\""
    );
    assert_contains!(
        wrong.text,
        "the file:5: code.checked_by must be",
        "checked_by: nobody"
    );
}

#[tokio::test]
async fn too_long_a_form_and_an_ended_session_say_how_to_go_on() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let long = sent("check", 1, &format!("name={}", "a".repeat(64 * 1024)));
    let refused = operator.post_for(413, EDIT, &long).await;
    assert_contains!(refused.text, "longer than 64 kB", "applied as a file");
    stack.clock.advance(console::IDLE_LIMIT);
    let ended = operator
        .post_for(401, EDIT, &sent("check", 1, "name=Chai"))
        .await;
    assert_contains!(
        ended.text,
        "Nothing was changed.",
        "sends again what you typed"
    );
}
