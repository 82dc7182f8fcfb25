//! A campaign's overview, and its pause switch.

use std::time::Duration;

use common::domain::scope::Scope;
use common::domain::settling::PendingSettlement;
use common::domain::submission::Submission;
use common::store::breakers::{BreakerPermit, Breakers};
use ops_core::pace::PARTNER_CONCURRENCY;
use service_tests::text::parse_json;

use super::{Served, SignedIn};
use crate::campaign::with_partner;
use crate::numbers::counted;
use crate::submission::{submission, waiting, write};
use crate::support::{CHAI, NOW, Stack, live};

const OVERVIEW: &str = "/campaigns/chai-bora-2026/live";

/// The field of the pause switch that tells which turn the page has seen, if the page has the switch.
pub(crate) async fn last_seen(operator: &SignedIn) -> String {
    let page = operator.page(OVERVIEW).await;
    let after = page.split("name=\"last\" value=\"").nth(1);
    let last = after.and_then(|after| after.split('"').next());
    format!("last={}", last.unwrap_or_default())
}

#[tokio::test]
async fn page_from_before_a_turn_of_the_switch_turns_nothing() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    stack
        .fine("campaign pause chai-bora-2026 --why printer")
        .await;
    let stale = last_seen(&operator).await;
    stack.clock.advance(Duration::from_mins(1));
    stack.fine("campaign resume chai-bora-2026").await;
    stack
        .fine("campaign pause chai-bora-2026 --why misprint")
        .await;
    let resume = format!("{OVERVIEW}/resume");
    let refused = operator
        .post_for(422, &resume, &format!("{stale}&why=reprinted"))
        .await;
    assert_contains!(refused.text, "paused or resumed since this page was made");
    let shown = stack.json("campaign show chai-bora-2026").await;
    assert_eq!(shown["paused"], true);
}

#[tokio::test]
async fn a_campaign_is_paused_and_resumed_as_by_the_command_line() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    for (switch, paused, action) in [
        ("pause", true, "campaign.pause"),
        ("resume", false, "campaign.resume"),
    ] {
        let path = format!("{OVERVIEW}/{switch}");
        let refused = operator.post_for(422, &path, "why=+").await;
        assert_contains!(refused.text, "The reason must be 1 to 500 characters");
        let fields = format!("{}&why=printing+error", last_seen(&operator).await);
        let reply = operator.post_for(303, &path, &fields).await;
        assert_eq!(reply.headers["location"], OVERVIEW);
        assert_eq!(
            stack.json("campaign show chai-bora-2026").await["paused"],
            paused
        );
        let last = stack.last_audit_row().await;
        assert_eq!(last["action"], action);
        assert_eq!(last["campaign"], "chai-bora-2026");
        assert_eq!(last["why"], "printing error");
    }
    assert_contains!(operator.page(OVERVIEW).await, "Pause the campaign");
}

#[tokio::test]
async fn pause_says_what_is_read_and_then_who_why_and_when() {
    let stack = Stack::empty().await;
    let own = "messages: { en: { campaign_paused: \"Back <soon>.\" }, sw: {} }\nlimits: {}\n";
    let file = CHAI.split_once("limits:").expect("its limits").0;
    stack.apply(format!("{file}{own}")).await;
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(OVERVIEW).await;
    assert_contains!(
        page,
        "<blockquote lang=\"en\">Back &lt;soon&gt;.</blockquote>",
        "<blockquote lang=\"sw\">Kampeni imesimamishwa kwa muda. Jaribu tena baadaye.</blockquote>"
    );
    stack
        .fine("campaign pause chai-bora-2026 --why misprint")
        .await;
    let page = operator.page(OVERVIEW).await;
    assert_contains!(
        page,
        "<p class=\"bad\">Paused by asha",
        ", 03:00, misprint.</p>"
    );
    stack.clock.advance(Duration::from_hours(24));
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(OVERVIEW).await;
    assert_contains!(
        page,
        ", 1 March 2026, 03:00, misprint.</p>",
        "Resume the campaign"
    );
    // A file pauses without a reason.
    let resume = format!("{OVERVIEW}/resume");
    let fields = format!("{}&why=reprinted", last_seen(&operator).await);
    operator.post_for(303, &resume, &fields).await;
    assert_contains!(operator.page(OVERVIEW).await, "Resumed by asha");
    stack.apply(format!("{file}paused: true\n")).await;
    assert_contains!(
        operator.page(OVERVIEW).await,
        "Paused by a change of the campaign itself"
    );
}

#[tokio::test]
async fn what_waits_and_what_fails_comes_first() {
    let stack = with_two(&with_partner()).await;
    let operator = SignedIn::to(&stack).await;
    assert_contains!(
        operator.page(OVERVIEW).await,
        "Nothing waits for a person, and nothing fails."
    );
    let waits = PendingSettlement::asking(NOW).escalate(NOW);
    for _ in 0..3 {
        pending(&stack, "chai-bora-2026", waits.clone()).await;
    }
    let breakers = Breakers::for_partners(&stack.env, &stack.aws().dynamodb()).expect("a table");
    for subject in 0..5 {
        let breaker = live().to_string();
        let permit = breakers
            .acquire(&breaker, &subject.to_string(), false, NOW)
            .await;
        let BreakerPermit::Granted(grant) = permit.expect("it answers") else {
            panic!("it is closed")
        };
        breakers
            .record_failure(&breaker, grant, NOW)
            .await
            .expect("it is written");
    }
    let page = operator.page(OVERVIEW).await;
    assert_contains!(
        page,
        "href=\"/campaigns/chai-bora-2026/live/review\">3 waiting for you: review</a>",
        "href=\"/campaigns/chai-bora-2026/live/submissions?waiting=person\"",
        "The partner does not answer.",
        "It is asked again at 03:00:05."
    );
    assert_lacks!(page, "stand still");
    // Nothing counts here.
    stack.clock.advance(Duration::from_mins(6));
    assert_contains!(operator.page(OVERVIEW).await, "These numbers stand still");
}

#[tokio::test]
async fn days_are_chosen_and_downloaded() {
    let (stack, _) = counted().await;
    let operator = SignedIn::to(&stack).await;
    let page = operator.page(&format!("{OVERVIEW}?days=7")).await;
    assert_contains!(
        page,
        "?days=7\" aria-current=\"true\"",
        "New phones",
        "/submissions?day=2026-03-01"
    );
    let none = operator
        .page(&format!("{OVERVIEW}?from=2026-01-01&to=2026-01-02"))
        .await;
    assert_contains!(
        none,
        "value=\"2026-01-02\"",
        "<dt>Submissions</dt><dd><a href=\"/campaigns/chai-bora-2026/live/submissions?from=2026-01-01&amp;to=2026-01-02\">0</a>"
    );
    let wrong = format!("{OVERVIEW}?from=yesterday");
    assert_eq!(operator.status("GET", &wrong).await, 422);
    let json = operator
        .page(&format!("{OVERVIEW}/numbers?format=json"))
        .await;
    let numbers = stack.json("numbers --campaign chai-bora-2026").await;
    assert_eq!(parse_json(&json), numbers);
    let csv = operator
        .page(&format!("{OVERVIEW}/numbers?format=csv&from=2026-03-02"))
        .await;
    let first = "\u{feff}list,name,submissions,entries,new_phones,active_phones,phones,codes,redeemed,left\r\n";
    assert!(csv.starts_with(first), "{csv}");
    assert_contains!(csv, "\r\ndays,2026-03-02,1,2,");
    assert_lacks!(csv, "days,2026-03-01");
    let reversed = format!("{OVERVIEW}/numbers?from=2026-03-02&to=2026-03-01");
    assert_eq!(operator.status("GET", &reversed).await, 422);
}

#[tokio::test]
async fn a_campaign_that_is_not_there_is_said_so() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    for path in [
        "/campaigns/other/live",
        "/campaigns/chai-bora-2026/staging",
        "/campaigns/UPPER/live",
    ] {
        let reply = operator.ask("GET", path).send().await;
        assert_eq!(reply.status, 404, "{path}");
        assert_contains!(reply.text, "aria-label=\"Pages\"");
    }
    operator
        .post_for(404, "/campaigns/other/live/pause", "why=misprint")
        .await;
}

#[tokio::test]
async fn the_overview_shows_the_numbers_that_are_counted() {
    let (stack, _) = counted().await;
    let page = SignedIn::to(&stack).await.page(OVERVIEW).await;
    let numbers = stack.json("numbers --campaign chai-bora-2026").await;
    for name in ["submissions", "entries", "phones"] {
        let shown = [
            format!("<dd>{}</dd>", numbers[name]),
            format!("\">{}</a></dd>", numbers[name]),
        ];
        assert!(
            shown.iter().any(|shown| page.contains(shown)),
            "{name}: {page}"
        );
    }
    // Plots and table: one of two submissions is accepted, with two entries.
    assert_contains!(
        page,
        "<figcaption>Entries by day</figcaption>",
        "2026-03-01: 2</title>",
        "<td>2026-03-02</td><td><a href=\"/campaigns/chai-bora-2026/live/submissions?day=2026-03-02\">1</a></td><td>2</td>",
        "/submissions?state=accepted&amp;reason=instant_win\">accepted, instant win</a></td><td>1</td>",
        "<span>33 %</span>",
        "/submissions?batch=kettles&amp;state=accepted\">1</a> of 5</td>",
        // One of five kettles is won.
        "<h2>Prizes left</h2>",
        "<td>4 of 5</td>",
    );
}

/// A campaign, and one like it, `soda-2026`.
async fn with_two(campaign: &str) -> Stack {
    let stack = Stack::empty().await;
    for (name, file) in [
        ("chai", campaign),
        ("soda", &campaign.replace("chai-bora-2026", "soda-2026")),
    ] {
        let file = stack.file(&format!("{name}.yaml"), file);
        stack.fine(format!("campaign apply --yes {file}")).await;
    }
    stack
}

/// Writes a live submission with this next step.
async fn pending(stack: &Stack, campaign: &str, settling: PendingSettlement) {
    let scope = Scope {
        campaign: campaign.parse().expect("a slug"),
        ..live()
    };
    let unsettled = Submission {
        scope,
        settling: Some(settling),
        ..submission(waiting(), None)
    };
    write(stack, &unsettled, None).await;
}

#[tokio::test]
async fn overview_tells_how_many_receipts_wait_and_until_when() {
    let stack = with_two(&format!(
        "{CHAI}receipt: {{ ranges: [{{ name: Classic }}] }}\n"
    ))
    .await;
    let operator = SignedIn::to(&stack).await;
    let due = PendingSettlement::due_at(NOW, None);
    let later = due.retry_at(NOW.after(Duration::from_hours(1)));
    // An operator's, a later one and a partner's are not looked up now.
    for other in [due.escalate(NOW), later, asked_again()] {
        pending(&stack, "chai-bora-2026", other).await;
    }
    let page = operator.page(OVERVIEW).await;
    assert_contains!(
        page,
        "<p>No receipt is due at the tax authority; those that are tried again later are not counted.</p>"
    );
    assert_lacks!(page, "due at a partner");
    for (campaign, count) in [("chai-bora-2026", 2), ("soda-2026", 39)] {
        for _ in 0..count {
            pending(&stack, campaign, due.clone()).await;
        }
    }
    let page = operator.page(OVERVIEW).await;
    let told = "<p>Receipts that are due at the tax authority: 2 here, 41 in all campaigns. At 40 a minute for all campaigns \
                together, all are looked up by 2026-03-01 03:02:00, unless more come.</p>";
    assert_contains!(page, told);
}

/// A partner's due step.
fn asked_again() -> PendingSettlement {
    PendingSettlement::asking(NOW).retry_at(NOW)
}

#[tokio::test]
async fn overview_tells_how_many_wait_for_partners_and_until_when() {
    let stack = with_two(&with_partner()).await;
    // Being asked about.
    pending(&stack, "chai-bora-2026", PendingSettlement::asking(NOW)).await;
    let console = Served::start_with(&stack, stack.env_with(&[(PARTNER_CONCURRENCY, "25")])).await;
    let operator = console.sign_in().await;
    let page = operator.page(OVERVIEW).await;
    assert_contains!(
        page,
        "<p>No submission is due at a partner; those that are tried again later are not counted.</p>"
    );
    for _ in 0..187 {
        pending(&stack, "soda-2026", asked_again()).await;
    }
    pending(&stack, "chai-bora-2026", asked_again()).await;
    let page = operator.page(OVERVIEW).await;
    let told = "<p>Submissions that are due at a partner: 1 here, 188 in all campaigns. The queue asks about them for all \
                campaigns together, 187 a minute while an answer takes 8 s, 1,500 at 1 s (PartnerConcurrency of the \
                deployment: 25); what waits after an outage is sent at 640 a minute at most. If every answer takes as long as \
                its campaign lets it, all are asked about by 2026-03-01 03:02:00, unless more come.</p>";
    assert_contains!(page, told);
}
