//! The template's policies for operators: each role's rights, and what `ops` says without a right.

mod denied;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use common::aws::Aws;
use common::config::Env;
use common::domain::Dependency;
use common::domain::key_encryption::DeploymentSecret;
use common::domain::message::MessageKey;
use common::domain::scope::Environment;
use common::domain::submission::{Submission, SubmissionStatus};
use common::domain::webhook::DeliveryStatus;
use common::random;
use common::store::breakers::{BreakerState, Breakers};
use common::store::review_locks::{ReviewLock, ReviewLocks};
use common::store::turns::{TurnResult, Turns};
use local::stack::Options;
use ops_core::statistics::QUIET;
use serde_json::json;
use service_tests::iam_guard;
use service_tests::operator_roles::{ROLES, access_key_of, front, unused};
use service_tests::service::DEPLOYMENT_SECRET;
use service_tests::text::{list_of, text_of};

use crate::console::Served;
use crate::console::review::{Screen, answer_to};
use crate::decision::prize::at_stake;
use crate::draw::stored::{Record, number, text};
use crate::draw::{entered, freeze};
use crate::instant;
use crate::prize::won;
use crate::review::{CODE, as_it_is, photo, typed, with_receipt};
use crate::submission::{holding, submission, waiting};
use crate::support::{CHAI, Ended, NOW, Stack, chai, run};
use crate::webhook;

/// A guarded stack with a campaign, a key and codes.
async fn guarded(used: &iam_guard::Record) -> Stack {
    let stack = Stack::start(Options {
        proxy: Some(front(used.clone())),
        ..Options::default()
    })
    .await;
    stack.apply(CHAI).await;
    stack
}

pub(crate) async fn guarded_stack() -> Stack {
    guarded(&iam_guard::Record::default()).await
}

fn env_of(stack: &Stack, role: &str) -> Env {
    stack.env_with(&[("AWS_ACCESS_KEY_ID", &access_key_of(role))])
}

async fn run_as(stack: &Stack, role: &str, command: &str) -> Ended {
    run(command, env_of(stack, role), &stack.clock).await
}

/// The database with the rights of a role.
fn database_of(stack: &Stack, role: &str) -> Client {
    let aws = Aws::for_operator(&env_of(stack, role));
    aws.expect("credentials").dynamodb()
}

/// A waiting submission with a code and a photo.
async fn left(stack: &Stack, serial: u64) -> String {
    if serial == 0 {
        let left = with_receipt(stack, photo(None), as_it_is).await;
        return left.submission_id.to_string();
    }
    let left = holding(stack, serial, submission(waiting(), None)).await;
    left.submission_id.to_string()
}

/// Freezes; returns the draw's name.
async fn frozen(stack: &Stack, turn: u64) -> String {
    entered(stack, "0711000001", 1).await;
    let name = format!("draw-{turn}");
    stack.fine(freeze(stack, &name, "--prize Kettle=1")).await;
    name
}

/// A blocked phone with an accepted entry and a rejected receipt.
async fn erasable(stack: &Stack) -> &'static str {
    // No one is erased between a draw's round and its run.
    let draws = stack.json("draw show --campaign chai-bora-2026").await;
    for draw in list_of(&draws["draws"]) {
        let name = text_of(&draw["draw"]);
        stack
            .fine(format!("draw run --campaign chai-bora-2026 --draw {name}"))
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
        .fine(format!(
            "phone block --campaign chai-bora-2026 --why sells {phone}"
        ))
        .await;
    phone
}

/// A test submission with a code and its idempotency key.
async fn tested(stack: &Stack) {
    let won = SubmissionStatus::accepted(1, Some("A kettle".to_owned()));
    let accepted = Submission {
        scope: chai(Environment::Test),
        ..submission(won, None)
    };
    holding(stack, 0, accepted).await;
}

async fn of_test_keys(stack: &Stack) -> usize {
    let list = "submission list --campaign chai-bora-2026 --environment test --yes";
    list_of(&stack.json(&list).await["submissions"]).len()
}

const CAMPAIGN: &str = "--campaign chai-bora-2026";

/// The commands of a role that those before it may not run, one a line.
async fn commands(stack: &Stack, role: &str, turn: u64) -> String {
    // Boxed: a test's thread has a small stack.
    match role {
        "viewer" => Box::pin(of_viewer(stack, turn)).await,
        "reviewer" => Box::pin(of_reviewer(stack, turn)).await,
        "operator" => Box::pin(of_operator(stack, turn)).await,
        "admin" => Box::pin(of_admin(stack)).await,
        _ => Box::pin(of_prize(stack)).await,
    }
}

async fn of_viewer(stack: &Stack, turn: u64) -> String {
    let id = left(stack, 0).await;
    let shown = stack.json(format!("submission show {id}")).await;
    let reference = text_of(&shown["submissions"][0]["ref"]);
    let draw = frozen(stack, turn).await;
    webhook::added(stack, &webhook::receiver().await).await;
    let folder = stack.folder.path().display();
    format!(
        "\
campaign list
campaign show chai-bora-2026
campaign history chai-bora-2026
campaign show chai-bora-2026 --yaml --revision 1
campaign clone chai-bora-2026 soda-2026 --output {folder}/soda.yaml
key list {CAMPAIGN}
submission list {CAMPAIGN} --yes
submission list {CAMPAIGN} --unsettled
submission list {CAMPAIGN} --state pending
submission list {CAMPAIGN} --ref {reference}
submission show {id}
submission timeline {reference}
draw show {CAMPAIGN} --draw {draw}
draw show {CAMPAIGN}
draw show {CAMPAIGN} --draw {draw} --sheet {folder}/sheet-{turn}.html
prize list {CAMPAIGN}
numbers {CAMPAIGN}
webhook list {CAMPAIGN} --environment live
webhook deliveries {CAMPAIGN} --environment live
whoami"
    )
}

async fn of_reviewer(stack: &Stack, turn: u64) -> String {
    let (accepted, rejected, resumed) = (
        left(stack, 0).await,
        left(stack, 10 * turn + 1).await,
        left(stack, 0).await,
    );
    let accept = format!(
        "submission settle {} --accept --receipt-code WN{turn}2CD3456 --why seen",
        at_stake(stack).await.submission_id
    );
    let revoke = format!(
        "submission revoke {} --why mistake",
        won(stack).await.submission_id
    );
    for proposal in [&accept, &revoke] {
        stack.json_by("neema", proposal).await;
    }
    format!(
        "\
submission show {accepted} --show-receipt --show-photo
submission settle {accepted} --accept --receipt-code {CODE}{turn} --why seen
submission settle {rejected} --reject receipt_wrong_store --why seen
submission resume {resumed}
submission revoke {accepted} --why mistake
{accept}
{revoke}
audit list"
    )
}

async fn of_operator(stack: &Stack, turn: u64) -> String {
    planned(stack).await;
    let scope = format!("{CAMPAIGN} --environment live");
    let issued = stack
        .json(format!("key issue {CAMPAIGN} --environment test"))
        .await;
    let key = text_of(&issued["key_id"]);
    let changed = CHAI.replace("phone_daily: 3", &format!("phone_daily: {}", 100 + turn));
    let file = stack.file("again.yaml", changed);
    let list = stack.file("list.csv", format!("CHAI20260000{turn}\n"));
    let rejected = left(stack, 10 * turn + 3).await;
    let reject = "--reject receipt_wrong_store --why seen --by neema";
    stack
        .fine(format!("submission settle {rejected} {reject}"))
        .await;
    let new = stack.arg(&format!("soda-{turn}.yaml"));
    stack
        .fine(format!(
            "campaign clone chai-bora-2026 soda-{turn} --output {new}"
        ))
        .await;
    let id = left(stack, 0).await;
    let (prize, other_prize) = (won(stack).await.reference(), won(stack).await.reference());
    let in_a_draw = entered(stack, "0711000002", 1).await.reference();
    let freeze = freeze(stack, "operators", "--prize Kettle=1");
    let draw = format!("{CAMPAIGN} --draw {}", frozen(stack, turn).await);
    let receiver = webhook::receiver().await;
    let added = webhook::added(stack, &receiver).await;
    let endpoint = format!("{scope} {}", text_of(&added["endpoint"]));
    let event = webhook::failed(stack, &added, DeliveryStatus::GivenUp).await;
    let url = &receiver.url;
    let folder = stack.folder.path().display();
    // The book tells whether a code is one of the campaign, and its keys are encrypted. To tell a
    // photo that is gone takes a right of admins; here there are none. Nothing is counted here, and
    // nothing was sent with test keys.
    format!(
        "\
submission show {id} --show-phone
submission list {CAMPAIGN} --phone 0712345678
campaign apply {file} --yes
campaign apply {new} --yes
submission reopen {rejected} --why mistake
campaign pause chai-bora-2026
campaign archive chai-bora-2026
campaign archive chai-bora-2026 --undo
campaign resume chai-bora-2026
key issue {scope}
key set {key} --per-minute 9
key roll {key}
key revoke {key} --yes
code mint {scope} --count 2 --output {folder}/minted-{turn}.csv
code import {scope} --allow-weak --batch old-{turn} {list}
code batches {scope}
submission list {CAMPAIGN} --code CHAI20260000{turn}
code void {scope} --yes --batch old-{turn}
export submissions {scope} --output {folder}/submissions-{turn}.csv
export entrants {scope} --output {folder}/entrants-{turn}.csv
export winners {scope} --output {folder}/winners-{turn}.csv
person find --phone 0712345678
person export --phone 0711000002 --output {folder}/entrant.zip
code batches {scope} --used
phone block {CAMPAIGN} --why sells 0712345678
numbers verify {CAMPAIGN} --environment test --yes
phone list {scope}
{freeze}
draw run {draw}
draw opening {in_a_draw}
draw call {draw} --winner 1 --show-phone
draw call {draw} --winner 1 --outcome reached
draw confirm {draw} --winner 1
draw skip {draw} --winner 1 --reason not-collected --inspector Neema --yes
draw call {draw} --winner 2 --outcome reached
draw confirm {draw} --winner 2
draw hand-over {draw} --winner 2
draw certificate {draw} --output {folder}/page.html
prize call {prize} --show-phone
prize call {prize} --outcome reached
prize confirm {prize}
prize hand-over {prize}
prize forfeit {other_prize} --reason excluded --inspector Neema --yes
phone unblock {CAMPAIGN} --why mistake 0712345678
instant arm {PLANNED}
instant show {PLANNED}
instant stop {PLANNED} --why checks
instant start {PLANNED} --why checked
instant stop {PLANNED} --why ended
webhook add {scope} --url '{url}'
webhook test {endpoint}
webhook replay {scope} --event {event}
webhook replay {scope} --from 2026-03-01 --to 2026-03-31 --yes
webhook rotate {endpoint}
webhook stop {endpoint}
webhook start {endpoint}
webhook remove {endpoint} --yes"
    )
}

const PLANNED: &str = "--campaign chai-bora-2026 --environment test";

/// A plan whose round is there.
async fn planned(stack: &Stack) {
    stack.apply(instant::chai_with_prizes()).await;
    let plan = instant::plan(stack, PLANNED, "planned");
    stack.fine(plan).await;
    stack.clock.advance(instant::NOTICE);
}

/// After those of the operator: their plan is stopped.
async fn of_prize(stack: &Stack) -> String {
    stack.apply(instant::chai_with_prizes()).await;
    let reveal = instant::reveal(stack, PLANNED, "revealed");
    let plan = instant::plan(stack, instant::LIVE, "plan");
    format!("{reveal}\n{plan}")
}

async fn of_admin(stack: &Stack) -> String {
    let phone = erasable(stack).await;
    tested(stack).await;
    // A recount needs a paused campaign without changes for some minutes.
    stack.fine("campaign pause chai-bora-2026").await;
    stack.clock.advance(2 * QUIET);
    let output = stack.arg("person.zip");
    format!(
        "\
numbers recount {CAMPAIGN} --yes
person export --phone 0712345678 --output {output}
campaign clear-test-data chai-bora-2026 --yes
secret rotate
audit verify
person erase --phone {phone} --why letter --yes"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_role_runs_its_commands_and_none_of_a_higher_role() {
    let used = iam_guard::Record::default();
    let stack = guarded(&used).await;
    for (turn, role) in (0..).zip(ROLES) {
        // The lower role first, so that what it is refused remains.
        let below = usize::try_from(turn)
            .ok()
            .and_then(|turn| turn.checked_sub(1))
            .map(|below| ROLES[below]);
        for command in commands(&stack, role, turn).await.lines() {
            if let Some(below) = below {
                let refused = run_as(&stack, below, &format!("{command} --json")).await;
                refused.refused("not_allowed");
            }
            let clears = command.contains("clear-test-data");
            if clears {
                assert_eq!(of_test_keys(&stack).await, 1);
            }
            run_as(&stack, role, command).await.fine();
            if clears {
                assert_eq!(of_test_keys(&stack).await, 0);
            }
        }
        // Higher roles include it.
        for higher in ROLES.iter().skip_while(|known| **known != role) {
            run_as(&stack, higher, "campaign list").await.fine();
        }
    }
    reviews(&stack).await;
    let bucket = stack
        .env
        .required(common::aws::photos::VARIABLE)
        .expect("a bucket");
    let s3 = stack.aws().s3();
    let put = s3
        .put_object()
        .bucket(&bucket)
        .key("photo")
        .body(b"photo".to_vec().into());
    put.send().await.expect("it is taken");
    let reviewer = Aws::for_operator(&env_of(&stack, "reviewer"));
    let reviewer = reviewer.expect("credentials").s3();
    let get = reviewer.get_object().bucket(bucket).key("photo");
    get.send().await.expect("what a link needs");
    assert_eq!(unused(&used), NOT_TRIED, "what no command needs");
}

/// Locks like the console for a reviewer, who may touch no other limit; viewers cannot lock.
async fn reviews(stack: &Stack) {
    let waiting = with_receipt(stack, typed(), as_it_is).await;
    let (scope, id) = (&waiting.scope, waiting.submission_id);
    let locks = |role: &str| {
        let client = database_of(stack, role);
        ReviewLocks::from_env(&stack.env, &client).expect("all variables")
    };
    locks("viewer")
        .acquire(scope, id, "screen", NOW)
        .await
        .expect_err("a viewer reviews nothing");
    let breakers = Breakers::for_partners(&stack.env, &database_of(stack, "viewer"));
    let state = breakers
        .expect("a table")
        .state("chai-bora-2026#live", NOW)
        .await;
    assert_eq!(state.expect("it is allowed"), BreakerState::Closed);
    let reviewer = locks("reviewer");
    let lock = reviewer.acquire(scope, id, "screen", NOW).await;
    assert_eq!(lock.expect("it is allowed"), ReviewLock::Acquired);
    reviewer
        .release(scope, id, "screen")
        .await
        .expect("it is allowed");
    let client = database_of(stack, "reviewer");
    let turns = |of| Turns::from_env(&stack.env, &client, of).expect("all variables");
    let slots = turns(Dependency::TaxAuthority);
    let last = slots.last().await.expect("it is allowed");
    let taken = slots.take(last.as_ref(), scope, NOW).await;
    assert!(matches!(taken, Ok(TurnResult::Taken(_))), "{taken:?}");
    let partners = turns(Dependency::Partner).take(None, scope, NOW).await;
    partners.expect_err("a reviewer asks no partner");
    let key = text("partner_leases#chai-bora-2026#live#0");
    let other = client
        .delete_item()
        .table_name("coordination")
        .key("limited", key)
        .send()
        .await;
    assert_eq!(refused(other), DENIED);
}

/// Used by the second of two concurrent freezes, and to erase an entrant of a draw.
const NOT_TRIED: [&str; 1] = ["s3:DeleteObject object/draw-openings"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_right_is_named_and_nothing_is_changed() {
    let stack = guarded(&iam_guard::Record::default()).await;
    let pause = "campaign pause chai-bora-2026";
    assert_eq!(
        run_as(&stack, "reviewer", pause).await.failed(),
        "error: turning the pause switch failed: you lack the permission dynamodb:UpdateItem on table campaigns; ask the \
         stack's administrator for the role that has it (infra/docs/roles.md); `ops whoami` shows yours\n"
    );
    let left = left(&stack, 0).await;
    let show = format!("submission show {left}");
    let hidden = run_as(&stack, "viewer", &show).await;
    assert!(
        hidden
            .out
            .lines()
            .any(|line| line.starts_with("phone ") && line.ends_with(" not readable")),
        "{}",
        hidden.out
    );
    for option in ["--show-phone", "--show-photo"] {
        // What cannot be recorded is not shown.
        let said = run_as(&stack, "viewer", &format!("{show} {option}"))
            .await
            .failed();
        assert_contains!(
            said,
            "you lack the permission dynamodb:GetItem on table audit"
        );
    }
    let shown = stack.json("campaign show chai-bora-2026").await;
    assert_eq!(shown["paused"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoami_names_identity_stack_and_role() {
    let stack = guarded(&iam_guard::Record::default()).await;
    for (index, role) in ROLES.iter().take(4).enumerate() {
        let said = run_as(&stack, role, "whoami --json").await.json();
        let identity = format!("arn:aws:iam::000000000000:user/{}", access_key_of(role));
        assert_eq!(said["identity"], identity);
        assert_eq!(said["account"], "000000000000");
        assert_eq!(said["region"], "af-south-1");
        assert_eq!(said["rights"], json!(ROLES[..=index]));
        assert_eq!(said["tables"]["CAMPAIGNS_TABLE"], "campaigns");
    }
    let said = stack.fine("whoami").await;
    assert_contains!(said, "role               admin\n");
}

fn refused<T, E: ProvideErrorMetadata>(sent: Result<T, SdkError<E>>) -> String {
    sent.err()
        .and_then(|error| error.code().map(str::to_owned))
        .expect("it is refused")
}

const DENIED: &str = "AccessDeniedException";
