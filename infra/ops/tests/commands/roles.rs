//! The template's policies for operators: each role's rights, and what `ops` says without a right.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::config::Env;
use common::domain::code_record::CodeKey;
use common::domain::key_encryption::DeploymentSecret;
use common::domain::message::MessageKey;
use common::domain::scope::Environment;
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use common::store::review_locks::{ReviewLock, ReviewLocks};
use local::stack::Options;
use ops_core::numbers::QUIET;
use serde_json::{Value, json};
use service_tests::iam_guard::Record;
use service_tests::operator_roles::{ROLES, access_key_of, front, unused};
use service_tests::service::DEPLOYMENT_SECRET;

use crate::console::Served;
use crate::draw::{args, entered, freeze};
use crate::review::{CODE, as_it_is, photo, typed, with_receipt};
use crate::submission::{submission, waiting, write};
use crate::support::{CHAI, Ended, NOW, Stack, chai, run};

/// A guarded stack with a campaign, a key and codes.
async fn guarded(used: &Record) -> Stack {
    let stack = Stack::start(Options {
        proxy: Some(front(used.clone())),
        ..Options::default()
    })
    .await;
    let file = stack.file("chai.yaml", CHAI);
    stack.fine(&["campaign", "apply", "--yes", &file]).await;
    stack
}

fn env_of(stack: &Stack, role: &str) -> Env {
    let key = [("AWS_ACCESS_KEY_ID".to_owned(), access_key_of(role))]
        .into_iter()
        .collect();
    stack.env.clone().overridden_by(key)
}

async fn run_as(stack: &Stack, role: &str, command: &[String]) -> Ended {
    let args: Vec<&str> = command.iter().map(String::as_str).collect();
    run(&args, env_of(stack, role), &stack.clock).await
}

/// A waiting submission with a code and a photo.
async fn left(stack: &Stack, serial: u64) -> String {
    let scope = chai(Environment::Live);
    let key = CodeKey::Minted(serial);
    let with_code = |left: Submission| Submission {
        code_key: Some(key.in_scope(&scope)),
        ..left
    };
    if serial == 0 {
        return with_receipt(stack, photo(None), as_it_is)
            .await
            .submission_id
            .to_string();
    }
    let left = with_code(submission(random::submission_id(), waiting(), None));
    write(stack, &left, Some(&key)).await;
    left.submission_id.to_string()
}

/// Freezes; returns the draw's name.
async fn frozen(stack: &Stack, turn: u64) -> String {
    entered(stack, "0711000001", 1).await;
    let name = format!("draw-{turn}");
    stack
        .fine(&args(&freeze(stack, &name, "--prize Kettle=1")))
        .await;
    name
}

/// A blocked phone with an accepted entry and a rejected receipt.
async fn erasable(stack: &Stack) -> String {
    // No one is erased between a draw's round and its run.
    let draws = stack
        .json(&["draw", "show", "--campaign", "chai-bora-2026"])
        .await["draws"]
        .clone();
    for draw in draws.as_array().expect("draws") {
        let name = draw["draw"].as_str().expect("a name");
        stack
            .fine(&[
                "draw",
                "run",
                "--campaign",
                "chai-bora-2026",
                "--draw",
                name,
            ])
            .await;
    }
    let phone = "0711000009";
    let entry = entered(stack, phone, 1).await;
    let status = SubmissionStatus::rejected(MessageKey::ReceiptWrongStore);
    let secret = DeploymentSecret::new(DEPLOYMENT_SECRET).expect("long enough");
    let of_phone = |left: Submission| Submission {
        entrant_id: entry.entrant_id.clone(),
        phone: secret.encrypt_phone(
            &left.scope,
            left.submission_id,
            &phone.parse().expect("a phone"),
            random::bytes(),
        ),
        settling: None,
        status,
        ..left
    };
    with_receipt(stack, photo(None), of_phone).await;
    stack
        .fine(&[
            "phone",
            "block",
            "--campaign",
            "chai-bora-2026",
            "--why",
            "sells",
            phone,
        ])
        .await;
    phone.to_owned()
}

/// A test submission with a code and its idempotency key.
async fn tested(stack: &Stack) {
    let (scope, key) = (chai(Environment::Test), CodeKey::Minted(0));
    let code_key = Some(key.in_scope(&scope));
    let accepted = submission(
        random::submission_id(),
        SubmissionStatus::accepted(1, None),
        code_key,
    );
    write(stack, &Submission { scope, ..accepted }, Some(&key)).await;
}

async fn of_test_keys(stack: &Stack) -> usize {
    let list = [
        "submission",
        "list",
        "--campaign",
        "chai-bora-2026",
        "--environment",
        "test",
        "--yes",
    ];
    stack.json(&list).await["submissions"]
        .as_array()
        .expect("a list")
        .len()
}

const CAMPAIGN: &str = "--campaign chai-bora-2026";

/// A role's commands that those before it may not run.
async fn commands(stack: &Stack, role: &str, turn: u64) -> Vec<Vec<String>> {
    // Boxed: a test's thread has a small stack.
    let lines = match role {
        "viewer" => Box::pin(of_viewer(stack, turn)).await,
        "reviewer" => Box::pin(of_reviewer(stack, turn)).await,
        "operator" => Box::pin(of_operator(stack, turn)).await,
        _ => Box::pin(of_admin(stack)).await,
    };
    lines
        .iter()
        .map(|line| line.split(' ').map(str::to_owned).collect())
        .collect()
}

async fn of_viewer(stack: &Stack, turn: u64) -> Vec<String> {
    let id = left(stack, 0).await;
    let shown = stack.json(&["submission", "show", &id]).await;
    let reference = shown["submissions"][0]["ref"]
        .as_str()
        .expect("a reference")
        .to_owned();
    vec![
        "campaign list".to_owned(),
        "campaign show chai-bora-2026".to_owned(),
        "campaign history chai-bora-2026".to_owned(),
        "campaign show chai-bora-2026 --yaml --revision 1".to_owned(),
        format!(
            "campaign clone chai-bora-2026 soda-2026 --output {}",
            stack.arg("soda.yaml")
        ),
        format!("key list {CAMPAIGN}"),
        format!("submission list {CAMPAIGN} --yes"),
        format!("submission list {CAMPAIGN} --unsettled"),
        format!("submission list {CAMPAIGN} --state pending"),
        format!("submission list {CAMPAIGN} --ref {reference}"),
        format!("submission show {id}"),
        format!("submission timeline {reference}"),
        format!("draw show {CAMPAIGN} --draw {}", frozen(stack, turn).await),
        format!("draw show {CAMPAIGN}"),
        format!(
            "draw show {CAMPAIGN} --draw draw-{turn} --sheet {}",
            stack.arg(&format!("sheet-{turn}.html"))
        ),
        format!("numbers {CAMPAIGN}"),
        "whoami".to_owned(),
    ]
}

async fn of_reviewer(stack: &Stack, turn: u64) -> Vec<String> {
    let (accepted, rejected, resumed) = (
        left(stack, 0).await,
        left(stack, 10 * turn + 1).await,
        left(stack, 0).await,
    );
    vec![
        format!("submission show {accepted} --show-receipt --show-photo"),
        format!("submission settle {accepted} --accept --receipt-code {CODE}{turn} --why seen"),
        format!("submission settle {rejected} --reject receipt_wrong_store --why seen"),
        format!("submission resume {resumed}"),
        format!("submission revoke {accepted} --why mistake"),
    ]
}

async fn of_operator(stack: &Stack, turn: u64) -> Vec<String> {
    let scope = format!("{CAMPAIGN} --environment live");
    let issued = stack
        .json(&[
            "key",
            "issue",
            "--campaign",
            "chai-bora-2026",
            "--environment",
            "test",
        ])
        .await;
    let key = issued["key_id"].as_str().expect("an id").to_owned();
    let file = stack.file(
        "again.yaml",
        CHAI.replace("phone_daily: 3", &format!("phone_daily: {}", 100 + turn)),
    );
    let list = stack.file("list.csv", format!("CHAI20260000{turn}\n"));
    let rejected = left(stack, 10 * turn + 3).await;
    let reject = [
        "--reject",
        "receipt_wrong_store",
        "--why",
        "seen",
        "--by",
        "neema",
    ];
    stack
        .fine(&[&["submission", "settle", &rejected], &reject[..]].concat())
        .await;
    let minted = stack.arg(&format!("minted-{turn}.csv"));
    let new = stack.arg(&format!("soda-{turn}.yaml"));
    let clone = ["campaign", "clone", "chai-bora-2026"];
    let slug = format!("soda-{turn}");
    stack
        .fine(&[&clone[..], &[&slug, "--output", &new]].concat())
        .await;
    let id = left(stack, 0).await;
    let won = SubmissionStatus::accepted(1, Some("A kettle".to_owned()));
    write(stack, &submission(random::submission_id(), won, None), None).await;
    let in_a_draw = entered(stack, "0711000002", 1).await.reference();
    let winner = format!("{CAMPAIGN} --draw draw-{turn} --winner");
    vec![
        format!("submission show {id} --show-phone"),
        format!("submission list {CAMPAIGN} --phone 0712345678"),
        format!("campaign apply {file} --yes"),
        format!("campaign apply {new} --yes"),
        format!("submission reopen {rejected} --why mistake"),
        "campaign pause chai-bora-2026".to_owned(),
        "campaign archive chai-bora-2026".to_owned(),
        "campaign archive chai-bora-2026 --undo".to_owned(),
        "campaign resume chai-bora-2026".to_owned(),
        format!("key issue {scope}"),
        format!("key set {key} --per-minute 9"),
        format!("key roll {key}"),
        format!("key revoke {key} --yes"),
        format!("code mint {scope} --count 2 --output {minted}"),
        format!("code import {scope} --allow-weak --batch old-{turn} {list}"),
        format!("code batches {scope}"),
        // Only the book, with encrypted keys, tells the campaign's codes.
        format!("submission list {CAMPAIGN} --code CHAI20260000{turn}"),
        format!("code void {scope} --yes --batch old-{turn}"),
        format!(
            "export submissions {scope} --output {}",
            stack.arg(&format!("submissions-{turn}.csv"))
        ),
        format!(
            "export entrants {scope} --output {}",
            stack.arg(&format!("entrants-{turn}.csv"))
        ),
        format!(
            "export winners {scope} --output {}",
            stack.arg(&format!("winners-{turn}.csv"))
        ),
        "person find --phone 0712345678".to_owned(),
        // Only admins can tell a missing photo; here are none.
        format!(
            "person export --phone 0711000002 --output {}",
            stack.arg("entrant.zip")
        ),
        format!("code batches {scope} --used"),
        format!("phone block {CAMPAIGN} --why sells 0712345678"),
        // Nothing to count or clear.
        format!("numbers verify {CAMPAIGN} --environment test --yes"),
        format!("phone list {scope}"),
        freeze(stack, "operators", "--prize Kettle=1").join(" "),
        format!("draw run {CAMPAIGN} --draw {}", frozen(stack, turn).await),
        format!("draw opening {in_a_draw}"),
        format!("draw call {winner} 1 --show-phone"),
        format!("draw call {winner} 1 --outcome reached"),
        format!("draw confirm {winner} 1"),
        format!("draw skip {winner} 1 --reason not-collected --inspector Neema --yes"),
        format!("draw call {winner} 2 --outcome reached"),
        format!("draw confirm {winner} 2"),
        format!("draw hand-over {winner} 2"),
        format!(
            "draw certificate {CAMPAIGN} --draw draw-{turn} --output {}",
            stack.arg("page.html")
        ),
        format!("phone unblock {CAMPAIGN} --why mistake 0712345678"),
        "audit list".to_owned(),
    ]
}

async fn of_admin(stack: &Stack) -> Vec<String> {
    let phone = erasable(stack).await;
    tested(stack).await;
    // A recount needs a paused campaign without changes for some minutes.
    stack.fine("campaign pause chai-bora-2026").await;
    stack.clock.advance(2 * QUIET);
    vec![
        format!("numbers recount {CAMPAIGN} --yes"),
        format!(
            "person export --phone 0712345678 --output {}",
            stack.arg("person.zip")
        ),
        "campaign clear-test-data chai-bora-2026 --yes".to_owned(),
        "secret rotate".to_owned(),
        "audit verify".to_owned(),
        format!("person erase --phone {phone} --why letter --yes"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_role_runs_its_commands_and_none_of_a_higher_role() {
    let used = Record::default();
    let stack = guarded(&used).await;
    for (turn, role) in (0..).zip(ROLES) {
        // The lower role first, so that what it is refused remains.
        let below = usize::try_from(turn)
            .ok()
            .and_then(|turn| turn.checked_sub(1))
            .map(|below| ROLES[below]);
        for command in commands(&stack, role, turn).await {
            if let Some(below) = below {
                let refused = run_as(
                    &stack,
                    below,
                    &[&command[..], &["--json".to_owned()]].concat(),
                )
                .await;
                assert_eq!(
                    (refused.code, refused.out.as_str()),
                    (ops_core::EXIT_FAILURE, ""),
                    "{below}: {command:?}"
                );
                // After the lines of progress.
                let error = refused.err.lines().last().unwrap_or_default();
                let error: Value = serde_json::from_str(error).expect("JSON");
                assert_eq!(
                    error["error"]["code"], "not_allowed",
                    "{below}: {command:?}: {error}"
                );
            }
            let clears = command.iter().any(|part| part == "clear-test-data");
            let before = if clears {
                of_test_keys(&stack).await
            } else {
                0
            };
            let ended = run_as(&stack, role, &command).await;
            assert_eq!(
                ended.code,
                ops_core::EXIT_OK,
                "{role}: {command:?}: {}",
                ended.err
            );
            if clears {
                assert_eq!(
                    (before, of_test_keys(&stack).await),
                    (1, 0),
                    "{}",
                    ended.out
                );
            }
        }
        // Higher roles include it.
        for higher in ROLES.iter().skip_while(|known| **known != role) {
            let ended = run_as(&stack, higher, &["campaign".to_owned(), "list".to_owned()]).await;
            assert_eq!(ended.code, ops_core::EXIT_OK, "{higher}: {}", ended.err);
        }
    }
    reviews(&stack).await;
    let bucket = stack
        .env
        .required(common::aws::photos::VARIABLE)
        .expect("a bucket");
    let everybody = Aws::for_function(&stack.env).expect("credentials").s3();
    let put = everybody
        .put_object()
        .bucket(&bucket)
        .key("photo")
        .body(b"photo".to_vec().into());
    put.send().await.expect("it is taken");
    let reviewer = Aws::for_function(&env_of(&stack, "reviewer"))
        .expect("credentials")
        .s3();
    reviewer
        .get_object()
        .bucket(bucket)
        .key("photo")
        .send()
        .await
        .expect("what a link needs");
    assert_eq!(unused(&used), NOT_TRIED, "what no command needs");
}

/// Locks like the console for a reviewer, who may touch no other limit; viewers cannot lock.
async fn reviews(stack: &Stack) {
    let waiting = with_receipt(stack, typed(), as_it_is).await;
    let (scope, id) = (&waiting.scope, waiting.submission_id);
    let locks = |role: &str| {
        let client = Aws::for_function(&env_of(stack, role))
            .expect("credentials")
            .dynamodb();
        ReviewLocks::from_env(&stack.env, &client).expect("all variables")
    };
    locks("viewer")
        .acquire(scope, id, "screen", NOW)
        .await
        .expect_err("a viewer reviews nothing");
    let reviewer = locks("reviewer");
    assert_eq!(
        reviewer
            .acquire(scope, id, "screen", NOW)
            .await
            .expect("it is allowed"),
        ReviewLock::Acquired
    );
    reviewer
        .release(scope, id, "screen")
        .await
        .expect("it is allowed");
    let client = Aws::for_function(&env_of(stack, "reviewer"))
        .expect("credentials")
        .dynamodb();
    let key = AttributeValue::S("partner_leases#chai-bora-2026#live#0".to_owned());
    let other = client
        .delete_item()
        .table_name("coordination")
        .key("limited", key)
        .send()
        .await;
    assert_eq!(refused(other), "AccessDeniedException");
}

/// Used by the second of two concurrent freezes, and to erase an entrant of a draw.
const NOT_TRIED: [&str; 1] = ["s3:DeleteObject object/draw-openings"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_right_is_named_and_nothing_is_changed() {
    let stack = guarded(&Record::default()).await;
    let ended = run_as(
        &stack,
        "reviewer",
        &["campaign", "pause", "chai-bora-2026"].map(str::to_owned),
    )
    .await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE);
    assert_eq!(
        ended.err,
        "error: turning the pause switch failed: you lack the permission dynamodb:UpdateItem on table campaigns; ask the \
         stack's administrator for the role that has it (infra/docs/roles.md); `ops whoami` shows yours\n"
    );
    let left = left(&stack, 0).await;
    let hidden = run_as(
        &stack,
        "viewer",
        &["submission", "show", &left].map(str::to_owned),
    )
    .await;
    assert!(
        hidden
            .out
            .lines()
            .any(|line| line.starts_with("phone ") && line.ends_with(" not readable")),
        "{}",
        hidden.out
    );
    for option in ["--show-phone", "--show-photo"] {
        let show = ["submission", "show", &left, option].map(str::to_owned);
        let ended = run_as(&stack, "viewer", &show).await;
        let right = "you lack the permission dynamodb:GetItem on table audit";
        assert!(
            ended.out.is_empty() && ended.err.contains(right),
            "what cannot be recorded is not shown: {}",
            ended.err
        );
    }
    assert!(
        !stack
            .tables()
            .await
            .campaign(&"chai-bora-2026".parse().expect("a slug"))
            .await
            .expect("it is there")
            .paused
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoami_names_identity_stack_and_role() {
    let stack = guarded(&Record::default()).await;
    for (index, role) in ROLES.iter().enumerate() {
        let ended = run_as(&stack, role, &["whoami".to_owned(), "--json".to_owned()]).await;
        let said: Value = serde_json::from_str(&ended.out).expect("JSON");
        assert_eq!(
            said["identity"],
            json!(format!(
                "arn:aws:iam::000000000000:user/{}",
                access_key_of(role)
            ))
        );
        assert_eq!(
            (&said["account"], &said["region"]),
            (&json!("000000000000"), &json!("af-south-1"))
        );
        assert_eq!(said["rights"], json!(ROLES[..=index]));
        assert_eq!(said["tables"]["CAMPAIGNS_TABLE"], "campaigns");
    }
    let said = stack.fine(&["whoami"]).await;
    assert!(said.contains("role               admin\n"), "{said}");
}

fn refused<T, E: ProvideErrorMetadata>(sent: Result<T, SdkError<E>>) -> String {
    sent.err()
        .and_then(|error| error.code().map(str::to_owned))
        .expect("it is refused")
}

async fn execute(client: &Client, statement: String) -> String {
    refused(client.execute_statement().statement(statement).send().await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reviewer_changes_and_deletes_purchases_and_no_receipts() {
    let stack = guarded(&Record::default()).await;
    let client = Aws::for_function(&env_of(&stack, "reviewer"))
        .expect("credentials")
        .dynamodb();
    let key = |key: &str| AttributeValue::S(format!("chai-bora-2026#live#{key}"));
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
        assert_eq!(
            refused(delete(name).await),
            "AccessDeniedException",
            "{name}"
        );
        assert_eq!(refused(put(name).await), "AccessDeniedException", "{name}");
    }
    put("purchase#1").await.expect("it is allowed");
    delete("purchase#1").await.expect("it is allowed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_role_changes_or_deletes_a_row_of_the_audit_log() {
    let stack = guarded(&Record::default()).await;
    let table = "audit";
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let first = || AttributeValue::N("1".to_owned());
    for role in ROLES {
        let client = Aws::for_function(&env_of(&stack, role))
            .expect("credentials")
            .dynamodb();
        let put = client
            .put_item()
            .table_name(table)
            .item("day", text("2026-03-01"))
            .item("sequence", first());
        assert_eq!(refused(put.send().await), "AccessDeniedException", "{role}");
        let update = client
            .update_item()
            .table_name(table)
            .key("day", text("2026-03-01"))
            .key("sequence", first());
        let update = update
            .update_expression("SET who = :who")
            .expression_attribute_values(":who", text("nobody"));
        assert_eq!(
            refused(update.send().await),
            "AccessDeniedException",
            "{role}"
        );
        let delete = client
            .delete_item()
            .table_name(table)
            .key("day", text("2026-03-01"))
            .key("sequence", first());
        assert_eq!(
            refused(delete.send().await),
            "AccessDeniedException",
            "{role}"
        );
        for (statement, code) in [
            (
                "UPDATE \"audit\" SET who = 'nobody' WHERE \"day\" = '2026-03-01' AND \"sequence\" = 1",
                "AccessDeniedException",
            ),
            (
                "DELETE FROM \"audit\" WHERE \"day\" = '2026-03-01' AND \"sequence\" = 1",
                "AccessDeniedException",
            ),
            (
                "INSERT INTO \"audit\" VALUE {'day': '2026-03-01', 'sequence': 1, 'who': 'nobody'}",
                if role == "viewer" {
                    "AccessDeniedException"
                } else {
                    "DuplicateItemException"
                },
            ),
        ] {
            assert_eq!(
                execute(&client, statement.to_owned()).await,
                code,
                "{role}: {statement}"
            );
        }
    }
    assert_eq!(stack.json(&["audit", "verify"]).await["count"], 1);
}

#[tokio::test]
async fn console_has_the_rights_of_its_operator() {
    let stack = guarded(&Record::default()).await;
    let id = left(&stack, 0).await;
    let story = format!("/submissions/{id}");
    let overview = "/campaigns/chai-bora-2026/live";
    let codes = format!("{overview}/codes");
    let draw = format!("{overview}/draws/{}", frozen(&stack, 0).await);
    for (role, allowed) in [
        ("viewer", &["/", "/search", &story, &draw, overview][..]),
        ("reviewer", &["/", "/search", &story, &draw, overview]),
        (
            "operator",
            &["/", "/search", &story, &draw, overview, &codes, "/changes"],
        ),
        (
            "admin",
            &["/", "/search", &story, &draw, overview, &codes, "/changes"],
        ),
    ] {
        let console = Served::start_with(&stack, env_of(&stack, role)).await;
        let operator = console.sign_in().await;
        for path in ["/", "/search", &story, &draw, overview, &codes, "/changes"] {
            let status = operator.ask("GET", path).send().await.status.as_u16();
            assert_eq!(
                status,
                if allowed.contains(&path) { 200 } else { 403 },
                "{role} {path}"
            );
        }
        let paused = operator.post(&format!("{overview}/pause"), "").await;
        assert_eq!(
            paused.status.as_u16(),
            if ["viewer", "reviewer"].contains(&role) {
                403
            } else {
                303
            },
            "{role}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reviewer_reviews_with_the_rights_of_that_role_alone() {
    let stack = guarded(&Record::default()).await;
    let decided = with_receipt(&stack, typed(), as_it_is).await;
    let id = decided.submission_id.to_string();
    let accept = [
        "submission",
        "settle",
        &id,
        "--accept",
        "--receipt-code",
        CODE,
        "--why",
        "seen",
        "--by",
        "neema",
    ];
    stack.fine(&accept).await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let console = Served::start_with(&stack, env_of(&stack, "reviewer")).await;
    let operator = console.sign_in().await;
    let looked = operator
        .post(
            &format!("/submissions/{}", waiting.submission_id),
            "show=receipt",
        )
        .await;
    assert!(
        looked.status == 200 && looked.text.contains(CODE),
        "{}",
        looked.text
    );
    let review = "/campaigns/chai-bora-2026/live/review";
    let page = operator.page(review).await;
    let screen = page
        .split("data-screen=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a screen");
    let send = async |path: &str, fields: &str| {
        let reply = operator
            .post(
                &format!("{review}/{path}"),
                &format!("screen={screen}&{fields}"),
            )
            .await;
        (reply.status.as_u16(), reply.text)
    };
    assert_eq!(send("next", "").await.0, 200);
    let Submission {
        submission_id,
        revision,
        ..
    } = waiting;
    let reject = format!(
        "id={submission_id}&revision={revision}&second_look=false&verdict=reject&reason=receipt_unreadable"
    );
    assert_eq!(send("answer", &reject).await.0, 204);
    assert_eq!(send("heartbeat", "").await.0, 200);
    // Reviewers may revoke, not reopen: each is done, or said to be not done.
    let reopen = format!("name={id}&why=mistake");
    let (status, text) = send("reopen", &reopen).await;
    assert!(
        status == 200 && text.contains("is revoked, and its entries are taken back"),
        "{text}"
    );
    let (status, text) = send("reopen", &reopen).await;
    assert!(
        status == 422 && text.contains("you lack the permission"),
        "{status} {text}"
    );
    let shown = stack.json(&["submission", "show", &id]).await;
    assert_eq!(shown["submissions"][0]["message_key"], "blocked");
}
