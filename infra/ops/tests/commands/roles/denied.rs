//! Rights that the database denies to a role, and the console to its operator.

use super::*;
use crate::console::hidden;
use crate::console::overview::last_seen;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reviewer_changes_and_deletes_purchases_and_no_receipts() {
    let stack = guarded(&iam_guard::Record::default()).await;
    let client = database_of(&stack, "reviewer");
    let key = |key: &str| text(&format!("chai-bora-2026#live#{key}"));
    let receipt = random::receipt_id().to_string();
    let delete = |name: &str| {
        client
            .delete_item()
            .table_name("receipts")
            .key("id", key(name))
            .send()
    };
    let put = |name: &str| {
        client
            .put_item()
            .table_name("receipts")
            .item("id", key(name))
            .send()
    };
    for name in [&receipt, "photo#1"] {
        assert_eq!(refused(delete(name).await), DENIED, "{name}");
        assert_eq!(refused(put(name).await), DENIED, "{name}");
    }
    put("purchase#1").await.expect("it is allowed");
    delete("purchase#1").await.expect("it is allowed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_role_changes_or_deletes_a_row_of_the_audit_log() {
    let stack = guarded(&iam_guard::Record::default()).await;
    let key = "\"day\" = '2026-03-01' AND \"sequence\" = 1";
    let row: Record = [("day", text("2026-03-01")), ("sequence", number(1))]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
    for role in ROLES {
        let client = database_of(&stack, role);
        let put = client.put_item().table_name("audit");
        let put = put.set_item(Some(row.clone())).send().await;
        let update = client.update_item().table_name("audit");
        let update = update
            .set_key(Some(row.clone()))
            .update_expression("SET who = :who")
            .expression_attribute_values(":who", text("nobody"));
        let delete = client.delete_item().table_name("audit");
        let delete = delete.set_key(Some(row.clone())).send().await;
        let tried = [refused(put), refused(update.send().await), refused(delete)];
        assert_eq!(tried, [DENIED; 3], "{role}");
        let inserted = if role == "viewer" {
            DENIED
        } else {
            "DuplicateItemException"
        };
        for (statement, code) in [
            (
                format!("UPDATE \"audit\" SET who = 'nobody' WHERE {key}"),
                DENIED,
            ),
            (format!("DELETE FROM \"audit\" WHERE {key}"), DENIED),
            (
                "INSERT INTO \"audit\" VALUE {'day': '2026-03-01', 'sequence': 1, 'who': 'nobody'}"
                    .to_owned(),
                inserted,
            ),
        ] {
            let ran = client.execute_statement().statement(&statement);
            assert_eq!(refused(ran.send().await), code, "{role}: {statement}");
        }
    }
    assert_eq!(stack.json("audit verify").await["count"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_plans_no_prizes_and_deletes_none() {
    let stack = guarded(&iam_guard::Record::default()).await;
    let client = database_of(&stack, "admin");
    for (part, expected) in [
        ("plan", "get query"),
        ("state", "get update"),
        ("wins", "get query put update"),
    ] {
        let name = part;
        let part = text(&format!("chai-bora-2026#live#{part}"));
        let key: Record = [("part", part.clone()), ("record", text("1"))]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        let key = || Some(key.clone());
        let get = client.get_item().table_name("instant").set_key(key());
        let query = client.query().table_name("instant");
        let query = query.key_condition_expression("part = :part");
        let query = query.expression_attribute_values(":part", part);
        let put = client.put_item().table_name("instant").set_item(key());
        let update = client.update_item().table_name("instant").set_key(key());
        let delete = client.delete_item().table_name("instant").set_key(key());
        let tried = [
            ("get", is_allowed(get.send().await)),
            ("query", is_allowed(query.send().await)),
            ("put", is_allowed(put.send().await)),
            ("update", is_allowed(update.send().await)),
            ("delete", is_allowed(delete.send().await)),
        ];
        let allowed = tried.iter().filter(|(_, allowed)| *allowed);
        let allowed: Vec<_> = allowed.map(|(action, _)| *action).collect();
        assert_eq!(allowed.join(" "), expected, "{name}");
    }
}

fn is_allowed<T, E: ProvideErrorMetadata + std::fmt::Debug>(
    answer: Result<T, SdkError<E>>,
) -> bool {
    match answer {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.code(), Some(DENIED), "{error:?}");
            false
        }
    }
}

#[tokio::test]
async fn console_has_the_rights_of_its_operator() {
    let stack = guarded(&iam_guard::Record::default()).await;
    let id = left(&stack, 0).await;
    let story = format!("/submissions/{id}");
    let overview = "/campaigns/chai-bora-2026/live";
    let codes = format!("{overview}/codes");
    let draw = format!("{overview}/draws/{}", frozen(&stack, 0).await);
    let submissions = format!("{overview}/submissions?waiting=person");
    let keys = format!("{overview}/keys");
    let all = [
        "/",
        "/search",
        &story,
        &draw,
        overview,
        &codes,
        &submissions,
        &keys,
        "/changes",
    ];
    let edit = "/campaigns/chai-bora-2026/edit";
    for (role, allowed) in ROLES.into_iter().zip([8, 9, 9, 9]) {
        let is_operator = !matches!(role, "viewer" | "reviewer");
        let console = Served::start_with(&stack, env_of(&stack, role)).await;
        let operator = console.sign_in().await;
        for (index, path) in all.into_iter().enumerate() {
            let status = if index < allowed { 200 } else { 403 };
            assert_eq!(operator.status("GET", path).await, status, "{role} {path}");
        }
        let status = if is_operator { 303 } else { 403 };
        let pause = format!("{overview}/pause");
        let fields = format!("{}&why=misprint", last_seen(&operator).await);
        operator.post_for(status, &pause, &fields).await;
        let changes = operator.page(edit).await.contains("See what changes");
        assert_eq!(changes, is_operator, "{role}");
        let page = operator.page(overview).await;
        let (form, reason) = (
            "<details class=\"switch\">",
            "takes the role <b>operator</b>",
        );
        assert_eq!(
            (page.contains(form), page.contains(reason)),
            (is_operator, !is_operator)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draws_have_buttons_for_those_who_may_draw() {
    let stack = guarded(&iam_guard::Record::default()).await;
    let name = frozen(&stack, 0).await;
    let draws = "/campaigns/chai-bora-2026/live/draws";
    let draw = format!("{draws}/{name}");
    let buttons = ["/new-draw\"", "/abandon\"", "/sheet.html\""];
    let form =
        "name=other&from=2026-02-22&to=2026-02-28&prize_1=Kettle&number_1=1&at=2026-03-01T03:25";
    for (role, may_draw) in ROLES.into_iter().zip([false, false, true, true]) {
        let console = Served::start_with(&stack, env_of(&stack, role)).await;
        let operator = console.sign_in().await;
        let pages = operator.page(draws).await + &operator.page(&draw).await;
        let shown = buttons.iter().filter(|button| pages.contains(**button));
        assert_eq!(shown.count(), if may_draw { 3 } else { 0 }, "{role}");
        let is_told = pages.contains("A new draw") && pages.contains("The next steps");
        assert_eq!(is_told, !may_draw, "{role}");
        if may_draw {
            continue;
        }
        for (path, form) in [
            ("/campaigns/chai-bora-2026/live/new-draw".to_owned(), form),
            (
                format!("{draw}/abandon"),
                &format!("why=mistake&typed={name}"),
            ),
        ] {
            operator.post_for(403, &path, form).await;
        }
        for file in ["evidence.zip", "certificate.zip"] {
            let status = operator.status("GET", &format!("{draw}/{file}")).await;
            assert!([403, 422].contains(&status), "{role} {file} {status}");
        }
    }
    let console = Served::start_with(&stack, env_of(&stack, "operator")).await;
    let operator = console.sign_in().await;
    let new = "/campaigns/chai-bora-2026/live/new-draw";
    operator.post_for(303, new, form).await;
    let freeze = format!("{draws}/other/freeze");
    let mut page = operator.page(&freeze).await;
    while !page.contains("Freeze it") {
        page = operator.page(&freeze).await;
    }
    let attempt = hidden(&page, "attempt");
    let answer = format!("answer=freeze&typed=other&attempt={attempt}");
    operator.post_for(303, &freeze, &answer).await;
    while operator.status("GET", &freeze).await == 200 {}
    let shown = stack.json("draw show --campaign chai-bora-2026 --draw other");
    assert_eq!(shown.await["state"], "frozen");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reviewer_reviews_with_the_rights_of_that_role_alone() {
    let stack = guarded(&iam_guard::Record::default()).await;
    let decided = with_receipt(&stack, typed(), as_it_is).await;
    let id = decided.submission_id.to_string();
    let accept =
        format!("submission settle {id} --accept --receipt-code {CODE} --why seen --by neema");
    stack.fine(&accept).await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let console = Served::start_with(&stack, env_of(&stack, "reviewer")).await;
    let operator = console.sign_in().await;
    let path = format!("/submissions/{}", waiting.submission_id);
    let looked = operator.post_for(200, &path, "show=receipt").await;
    assert_contains!(looked.text, CODE);
    let screen = Screen::of(operator).await;
    screen.send(200, "next", "").await;
    let look_up = format!("id={}&code=GOOD010001&time=10:15:30", waiting.submission_id);
    let found = screen.send(200, "lookup", &look_up).await;
    assert_contains!(found, "data-answer=\"found\"");
    let list = "/campaigns/chai-bora-2026/live/review/waiting";
    assert_contains!(screen.page(list).await, waiting.reference().to_string());
    let reject = answer_to(&waiting, "verdict=reject&reason=receipt_unreadable");
    screen.send(204, "answer", &reject).await;
    screen.send(200, "heartbeat", "").await;
    // Reviewers may revoke, not reopen: each is done, or said to be not done.
    let reopen = format!("name={id}&why=mistake");
    let said = screen.send(200, "reopen", &reopen).await;
    assert_contains!(said, "is revoked, and its entries are taken back");
    let said = screen.send(422, "reopen", &reopen).await;
    assert_contains!(said, "you lack the permission");
    let shown = stack.json(format!("submission show {id}")).await;
    assert_eq!(shown["submissions"][0]["message_key"], "blocked");
}
