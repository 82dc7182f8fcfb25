//! A draw from its form to the commitment, and to its end.

use std::io::{Cursor, Read};
use std::time::Duration;

use service_tests::text::{fields, text_of};

use super::pages::downloaded;
use super::{Served, SignedIn, hidden};
use crate::draw::interrupted::interrupt;
use crate::draw::races::with_two;
use crate::draw::{entered, freeze, frozen, relay_reply, shown};
use crate::draw_walk::{drawn, in_groups};
use crate::support::{Stack, live};

const CAMPAIGN: &str = "/campaigns/chai-bora-2026/live";
const DRAW: &str = "/campaigns/chai-bora-2026/live/draws/week-03";
const FREEZE: &str = "/campaigns/chai-bora-2026/live/draws/week-03/freeze";
const FORM: &str = "name=week-03&from=2026-02-22&to=2026-02-28&prize_1=Kettle&number_1=1&prize_2=Tea&number_2=2&at=2026-03-01T03:15";

async fn new_draw(operator: &SignedIn, status: u16, form: &str) -> String {
    let path = format!("{CAMPAIGN}/new-draw");
    operator.post_for(status, &path, form).await.text
}

/// The page of a freeze once its work is done; empty once the draw is frozen.
async fn after_work(operator: &SignedIn) -> String {
    loop {
        let reply = operator.ask("GET", FREEZE).await;
        if reply.status == 303 || !reply.text.contains("id=\"progress\"") {
            return reply.text;
        }
        tokio::task::yield_now().await;
    }
}

async fn asked(operator: &SignedIn) -> String {
    new_draw(operator, 303, FORM).await;
    after_work(operator).await
}

/// Agrees to the question of a page.
fn agreement(question: &str) -> String {
    let attempt = hidden(question, "attempt");
    format!("answer=freeze&typed=week-03&attempt={attempt}")
}

fn refusal(question: &str) -> String {
    format!("answer=stop&attempt={}", hidden(question, "attempt"))
}

async fn is_locked(stack: &Stack) -> bool {
    let lock = stack.tables().draws.freeze_lock(&live()).await;
    let lock = lock.expect("it answers");
    lock.is_some_and(|lock| lock.expires_at.is_some())
}

async fn with_entries() -> Stack {
    let stack = Stack::with_chai().await;
    entered(&stack, "0711000001", 1).await;
    entered(&stack, "0711000002", 2).await;
    stack
        .fine("phone block --campaign chai-bora-2026 --why sells 0711000002")
        .await;
    entered(&stack, "0711000003", 7).await;
    stack
}

type Zip = zip::ZipArchive<Cursor<Vec<u8>>>;

async fn zip_file(operator: &SignedIn, name: &str) -> Zip {
    let reply = downloaded(operator, "GET", &format!("{DRAW}/{name}"), "").await;
    let start = reply.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let head = String::from_utf8_lossy(&reply[..start.expect("a head")]).into_owned();
    assert_contains!(head, format!("filename=\"week-03-{name}\""));
    let content = reply[start.expect("a head") + 4..].to_vec();
    Zip::new(Cursor::new(content)).expect("a ZIP file")
}

fn names_in(zip: &Zip) -> Vec<String> {
    let names = zip
        .file_names()
        .map(|name| name.expect("text").into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draw_is_frozen_as_by_the_command() {
    let stack = with_entries().await;
    let operator = SignedIn::to(&stack).await;
    let question = asked(&operator).await;
    assert_contains!(
        question,
        "1 x Kettle, 2 x Tea",
        "2 entries of blocked phones",
        "largest rows",
        "0 entries were given by people",
        "2026-02-22 00:00:00 +03:00 to before 2026-03-01 00:00:00 +03:00",
        "There are 3 prizes and 2 entrants",
        "<td>2026-02-28</td><td>2</td><td>8</td>"
    );
    assert!(is_locked(&stack).await);
    assert_contains!(
        operator.page(&format!("{CAMPAIGN}/draws")).await,
        "waits for your answer"
    );
    let wrong = operator
        .post_for(422, FREEZE, "answer=freeze&typed=week")
        .await;
    assert_contains!(wrong.text, "type exactly `week-03`");
    let agree = agreement(&question);
    // Sent twice, it is done once.
    let (one, two) = tokio::join!(
        operator.post_for(303, FREEZE, &agree),
        operator.post_for(303, FREEZE, &agree)
    );
    assert_eq!(one.headers["location"], two.headers["location"]);
    after_work(&operator).await;
    operator.post_for(303, FREEZE, &agree).await;
    let draw = shown(&stack).await;
    assert_eq!(
        fields(&draw, "state header.rows header.total"),
        "frozen 2 8"
    );
    assert!(!is_locked(&stack).await);
    let page = operator.page(DRAW).await;
    assert_contains!(
        page,
        in_groups(text_of(&draw["commitment"])),
        "data-left=\"900000\""
    );
    let actions = stack.audit_actions().await;
    assert_eq!(
        actions
            .iter()
            .filter(|action| *action == "draw.freeze")
            .count(),
        1
    );
    let again = new_draw(&operator, 422, FORM).await;
    assert_contains!(
        again,
        "id=\"name-wrong\"",
        "a draw is frozen once",
        "value=\"Kettle\""
    );

    let sheet = operator.page(&format!("{DRAW}/sheet.html")).await;
    assert_contains!(sheet, in_groups(text_of(&draw["commitment"])));
    let evidence = zip_file(&operator, "evidence.zip").await;
    assert_eq!(
        names_in(&evidence),
        ["commitment.txt", "entries.csv", "header.json"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_fields_are_named_and_nothing_begins() {
    let stack = with_entries().await;
    let operator = SignedIn::to(&stack).await;
    for (field, typed, told) in [
        ("name=week-03", "name=Week 3", "name-wrong"),
        ("from=2026-02-22", "from=2026-03-01", "to-wrong"),
        ("to=2026-02-28", "to=2026-03-02", "to-wrong"),
        ("to=2026-02-28", "to=x", "to-wrong"),
        ("at=2026-03-01T03:15", "at=2026-03-01T03:09", "at-wrong"),
        ("number_1=1", "number_1=0", "prizes-wrong"),
        ("prize_1=Kettle", "prize_1=", "prizes-wrong"),
    ] {
        let page = new_draw(&operator, 422, &FORM.replace(field, typed)).await;
        assert_contains!(page, format!("id=\"{told}\""));
    }
    let more = new_draw(&operator, 200, &format!("{FORM}&more=yes")).await;
    assert_contains!(more, "id=\"prize_4\"", "value=\"Tea\"");
    let form = operator.page(&format!("{CAMPAIGN}/new-draw")).await;
    assert_contains!(form, "value=\"2026-02-28\"", "Africa/Dar_es_Salaam");
    assert!(!is_locked(&stack).await);
    // Found while the entries are read.
    new_draw(&operator, 303, &FORM.replace("2026-02-2", "2026-01-1")).await;
    assert_contains!(
        after_work(&operator).await,
        "role=\"alert\"",
        "Back to the form"
    );
    assert!(!is_locked(&stack).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_freeze_that_is_stopped_leaves_no_lock() {
    let stack = with_entries().await;
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    // Sent twice, it begins once.
    let path = format!("{CAMPAIGN}/new-draw");
    tokio::join!(
        operator.post_for(303, &path, FORM),
        operator.post_for(303, &path, FORM)
    );
    let question = after_work(&operator).await;
    assert_contains!(question, "Freeze it");
    let other = FORM.replace("week-03", "week-04");
    assert_contains!(
        new_draw(&operator, 422, &other).await,
        "under way in this console"
    );
    let stopped = operator.post_for(303, FREEZE, &refusal(&question)).await;
    assert_eq!(stopped.headers["location"], format!("{CAMPAIGN}/new-draw"));
    assert!(!is_locked(&stack).await);
    asked(&operator).await;
    assert!(is_locked(&stack).await);
    console.stop().await;
    assert!(!is_locked(&stack).await);
    assert_eq!(
        stack.audit_actions().await.last().map(String::as_str),
        Some("phone.block")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_to_an_earlier_question_does_nothing() {
    let stack = with_entries().await;
    let operator = SignedIn::to(&stack).await;
    let earlier = asked(&operator).await;
    operator.post_for(303, FREEZE, &refusal(&earlier)).await;
    new_draw(&operator, 303, &FORM.replace("number_1=1", "number_1=2")).await;
    let question = after_work(&operator).await;
    for answer in [agreement(&earlier), refusal(&earlier)] {
        let refused = operator.post_for(422, FREEZE, &answer).await;
        assert_contains!(refused.text, "another one began");
    }
    assert_contains!(operator.page(FREEZE).await, "Freeze it");
    let agree = agreement(&question);
    operator.post_for(303, FREEZE, &agree).await;
    after_work(&operator).await;
    let prizes = &shown(&stack).await["header"]["prizes"];
    assert_eq!(prizes[0]["number"], 2, "{prizes}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn freeze_stopped_too_late_leads_to_its_draw() {
    let (hold, stack, _) = with_two().await;
    let operator = SignedIn::to(&stack).await;
    let question = asked(&operator).await;
    hold.select(|call, _| call.starts_with("PUT ") && call.contains("/commitment.txt"));
    operator.post_for(303, FREEZE, &agreement(&question)).await;
    hold.reached().await;
    let stopped = operator.post_for(303, FREEZE, &refusal(&question)).await;
    assert_eq!(stopped.headers["location"], DRAW);
    assert_contains!(operator.page(DRAW).await, "Publish the commitment");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_after_half_an_hour_freezes_nothing() {
    let stack = with_entries().await;
    let operator = SignedIn::to(&stack).await;
    new_draw(&operator, 303, &FORM.replace("03:15", "09:15")).await;
    after_work(&operator).await;
    for _ in 0..3 {
        stack.clock.advance(Duration::from_secs(10 * 60));
        operator.page("/search").await;
    }
    let page = operator.page(FREEZE).await;
    assert_contains!(page, "too long ago");
    let agree = agreement(&page);
    operator.post_for(303, FREEZE, &agree).await;
    assert_contains!(
        after_work(&operator).await,
        "it took longer than half an hour"
    );
    stack
        .refused(
            "draw show --campaign chai-bora-2026 --draw week-03",
            "draw_unknown",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_freeze_is_published_from_its_page() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    interrupt(&stack, &draw).await;
    let operator = SignedIn::to(&stack).await;
    assert_contains!(operator.page(DRAW).await, "Publish the commitment");
    operator.post_for(303, &format!("{DRAW}/publish"), "").await;
    assert_eq!(shown(&stack).await["state"], "frozen");
    operator.post_for(422, &format!("{DRAW}/publish"), "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn winners_are_drawn_after_the_round_and_once() {
    let stack = with_entries().await;
    stack
        .fine(freeze(&stack, "week-03", "--prize Kettle=1"))
        .await;
    let operator = SignedIn::to(&stack).await;
    let run = format!("{DRAW}/run");
    let early = operator.post_for(422, &run, "").await;
    assert_contains!(early.text, "the round comes at 2026-03-01 03:15:00");
    assert_lacks!(operator.page(DRAW).await, "Draw the winners");
    for _ in 0..2 {
        stack.clock.advance(Duration::from_secs(8 * 60));
        operator.page("/search").await;
    }
    assert_contains!(operator.page(DRAW).await, "Draw the winners");
    let wrong = operator.post_for(422, &run, "reply={}").await;
    assert_contains!(wrong.text, "take the whole reply of a relay");
    let reply = relay_reply(&stack, &shown(&stack).await).await;
    let reply: String = form_urlencoded::byte_serialize(reply.as_bytes()).collect();
    operator
        .post_for(303, &run, &format!("reply={reply}"))
        .await;
    let drawn = shown(&stack).await;
    assert_eq!(drawn["state"], "drawn");
    operator.post_for(303, &run, "").await;
    assert_eq!(shown(&stack).await, drawn);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_round_is_fetched_from_the_beacon() {
    let stack = with_entries().await;
    frozen(&stack).await;
    stack.clock.advance(Duration::from_secs(16 * 60));
    let operator = SignedIn::to(&stack).await;
    operator.post_for(303, &format!("{DRAW}/run"), "").await;
    assert_contains!(operator.page(DRAW).await, "To be called");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_and_winners_are_downloaded() {
    let stack = drawn().await;
    let operator = SignedIn::to(&stack).await;
    let certificate = operator.page(&format!("{DRAW}/certificate")).await;
    assert_contains!(certificate, "Download the certificate");
    let mut zip = zip_file(&operator, "certificate.zip").await;
    let names = [
        "certificate.html",
        "commitment.txt",
        "entries.csv",
        "header.json",
        "log.json",
        "result.json",
        "verify.py",
    ];
    assert_eq!(names_in(&zip), names);
    let public = stack.path("public");
    zip.extract(&public).expect("a disk");
    let verified = stack
        .json(format!("draw verify {}", public.display()))
        .await;
    assert_eq!(verified["holds"], true);
    let mut page = String::new();
    let mut file = zip.by_name("certificate.html").expect("it is there");
    file.read_to_string(&mut page).expect("text");
    assert_lacks!(page, "+25571100");

    let csv = format!("{DRAW}/winners.csv");
    let before = stack.audit_rows().await.len();
    let masked = operator.post_for(200, &csv, "").await;
    assert_contains!(masked.text, "week-03,Kettle,1,", "2557•••••0");
    assert_lacks!(masked.text, "25571100");
    assert_eq!(stack.audit_rows().await.len(), before);
    let whole = operator.post_for(200, &csv, "phones=yes").await;
    assert_contains!(whole.text, "25571100");
    let row = stack.last_audit_row().await;
    assert_eq!(fields(&row, "action subject"), "export week-03");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_give_a_draw_up() {
    let stack = with_entries().await;
    frozen(&stack).await;
    let asha = SignedIn::named(&stack, "asha").await;
    let juma = SignedIn::named(&stack, "juma").await;
    let neema = SignedIn::named(&stack, "neema").await;
    let path = format!("{DRAW}/abandon");
    let form = "why=mistaken&typed=week-03&shown=";
    asha.post_for(422, &path, "why=mistaken&typed=week").await;
    asha.post_for(422, &path, "typed=week-03").await;
    asha.post_for(303, &path, form).await;
    let overview = "/campaigns/chai-bora-2026/live";
    assert_contains!(juma.page(overview).await, "to give up the draw");
    let asked = juma.page(DRAW).await;
    let decline = format!("why=it+is+right&shown={}", hidden(&asked, "shown"));
    let keep = format!("{DRAW}/keep");
    juma.post_for(303, &keep, &decline).await;
    assert_eq!(stack.last_audit_row().await["action"], "draw.decline");
    assert_lacks!(juma.page(overview).await, "Waits for a second person");
    asha.post_for(422, &keep, &decline).await;
    asha.post_for(303, &path, form).await;
    assert_contains!(
        asha.page(DRAW).await,
        "Another person has to ask for the same"
    );
    // His page was older than her request.
    let unseen = juma.post_for(422, &path, form).await;
    assert_contains!(
        unseen.text,
        "since it was shown",
        "You would be the second person"
    );
    let form = &format!("{form}{}", hidden(&unseen.text, "shown"));
    let alone = asha.post_for(422, &path, form).await;
    assert_contains!(alone.text, "Asha asked for it", "until a second operator");
    assert_eq!(shown(&stack).await["state"], "frozen");
    assert_contains!(
        juma.page(DRAW).await,
        "You would be the second person",
        "mistaken"
    );
    // Both at once: it is given up once.
    tokio::join!(
        juma.post_for(303, &path, form),
        neema.post_for(303, &path, form)
    );
    let given_up = shown(&stack).await;
    assert_eq!(fields(&given_up, "state abandonment.by"), "abandoned asha");
    let page = asha.page(DRAW).await;
    assert_contains!(page, "Two people gave this draw up");
    assert_lacks!(page, "/abandon\"", "/run\"");
    asha.post_for(422, &format!("{DRAW}/run"), "").await;
}
