//! `ops export submissions` over many entries: entries a second, and the memory of the process that exports.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use common::clock::Clock;
use common::config::Env;
use common::domain::ids::SubmissionId;
use common::domain::phone::Phone;
use common::domain::scope::{Environment, Scope};
use common::random;
use common::store::submissions;
use futures_util::{FutureExt, StreamExt, stream};
use local::stack::Options;
use ops_core::Terminal;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::receipts::id_of;
use service_tests::service::Service;

use crate::report::{Table, Verdicts};
use crate::stopwatch::{self, per_second};

/// The first argument of the process that exports.
pub(crate) const CHILD: &str = "export-child";

/// For the larger number of entries.
const LONGEST: Duration = Duration::from_secs(60);
/// How much more memory ten times as many entries may take.
const MEMORY_GROWTH: f64 = 1.25;
/// Items in one BatchWriteItem: DynamoDB's limit.
const BATCH: usize = 25;
/// Concurrent batches.
const AT_ONCE: usize = 4;

type Item = HashMap<String, AttributeValue>;

/// Exports a tenth of the entries, then all.
pub(crate) async fn run(entries: u32, verdicts: &mut Verdicts) {
    println!("## Export\n");
    println!(
        "`ops export submissions` in a process of its own, from the embedded database in this one, with phones"
    );
    println!(
        "masked. {entries} entries may take {} seconds, and {MEMORY_GROWTH} times the memory of",
        LONGEST.as_secs()
    );
    println!("a tenth of them.\n");
    let service = Service::of_its_own(Options { background: false, streams: false, ..Options::default() });
    let campaign = TestCampaign::on(&service, plain()).await;
    let original = original(&campaign).await;
    let mut seeded = 0;
    let mut table = Table::new(["entries", "seconds", "entries a second", "peak memory, MB", "kept"]);
    let mut memory_of_few = None;
    for count in [entries / 10, entries] {
        seed(&campaign, &original, count - seeded).await;
        seeded = count;
        let (taken, peak) = export(&service, &campaign, count);
        let grows = memory_of_few.zip(peak).is_some_and(|(few, many)| many > few * MEMORY_GROWTH);
        let kept = verdicts.check(taken < LONGEST && !grows, || {
            format!(
                "exporting {count} entries took {:.1} s and {peak:?} MB; with fewer, {memory_of_few:?} MB",
                taken.as_secs_f64()
            )
        });
        memory_of_few = memory_of_few.or(peak);
        let peak = peak.map_or_else(|| "unknown".to_owned(), |peak| format!("{peak:.0}"));
        let rate = format!("{:.0}", per_second(count.into(), taken));
        table.row([count.to_string(), format!("{:.1}", taken.as_secs_f64()), rate, peak, kept]);
    }
    table.print();
}

/// Adds entries, each of another phone: copies of one that was made through the API.
async fn seed(campaign: &TestCampaign, original: &Item, count: u32) {
    let service = &campaign.service;
    let table = service.env.required(submissions::VARIABLE).expect("the stack sets it");
    let client = service.dynamodb();
    let scope = campaign.scope(Environment::Test);
    let keys = service.tables.code_books.secrets().people_keys().await.expect("the secret");
    let put = |number: u32| {
        let (id, phone): (_, Phone) = (random::submission_id(), phone(number).parse().expect("a phone"));
        let stored = keys.secret.encrypt_phone(&scope, id, &phone, random::bytes());
        let stored = serde_json::to_value(stored).expect("JSON");
        let stored = stored.as_str().expect("text").to_owned();
        let put = PutRequest::builder().set_item(Some(copy(original, &scope, id, stored)));
        WriteRequest::builder().put_request(put.build().expect("an item")).build()
    };
    let numbers: Vec<u32> = (0..count).collect();
    let batches = numbers.chunks(BATCH).map(|numbers| numbers.iter().map(|number| put(*number)).collect());
    let write = async |puts: Vec<WriteRequest>| {
        let sent = client.batch_write_item().request_items(&table, puts).send().await;
        let left = sent.expect("the batch is written").unprocessed_items.unwrap_or_default();
        assert!(left.is_empty(), "the embedded database takes whole batches");
    };
    stream::iter(batches).for_each_concurrent(AT_ONCE, write).await;
}

/// The record of an entry that was made through the API.
async fn original(campaign: &TestCampaign) -> Item {
    let sent = campaign.submit(&phone(1), &campaign.code(0)).await;
    let key = campaign.scope(Environment::Test).key(id_of(&sent));
    let table = campaign.service.env.required(submissions::VARIABLE).expect("the stack sets it");
    let get = campaign.service.dynamodb().get_item().table_name(table);
    let found = get.key(submissions::KEY, AttributeValue::S(key)).send().await.expect("it answers");
    found.item.expect("it was written")
}

fn copy(original: &Item, scope: &Scope, id: SubmissionId, phone: String) -> Item {
    let mut copy = original.clone();
    copy.insert(submissions::KEY.to_owned(), AttributeValue::S(scope.key(id)));
    copy.insert("phone".to_owned(), AttributeValue::S(phone));
    copy
}

/// Exports in a process of its own. Returns its time, and its peak memory in MB; `None` without `/proc`.
fn export(service: &Service, campaign: &TestCampaign, count: u32) -> (Duration, Option<f64>) {
    let folder = std::env::temp_dir().join(format!("export-{}", random::submission_id()));
    std::fs::create_dir(&folder).expect("a disk");
    let output = folder.join("entries.csv");
    let slug = campaign.config.slug.as_str();
    let program = std::env::current_exe().expect("this program");
    let started = stopwatch::now();
    let child = Command::new(program)
        .args([
            CHILD,
            "export",
            "submissions",
            "--json",
            "--environment",
            "test",
            "--campaign",
            slug,
            "--output",
        ])
        .arg(&output)
        .envs(&service.variables)
        .stderr(Stdio::inherit())
        .output()
        .expect("it runs");
    let taken = started.elapsed();
    assert!(child.status.success(), "the export failed");
    let printed = String::from_utf8(child.stdout).expect("text");
    let (manifest, peak) = printed.rsplit_once("VmHWM:").map_or((printed.as_str(), ""), |both| both);
    let manifest: serde_json::Value = serde_json::from_str(manifest).expect("a manifest");
    assert!(manifest["rows"].as_u64() >= Some(count.into()), "every entry is in the file");
    assert!(Path::new(&output).exists(), "the file is written");
    std::fs::remove_dir_all(&folder).expect("it is there");
    let kibibytes: Option<f64> = peak.trim().strip_suffix(" kB").and_then(|peak| peak.parse().ok());
    (taken, kibibytes.map(|peak| peak / 1024.0))
}

/// What the process that exports does: one command of `ops`, and then a line with its peak memory.
pub(crate) async fn child(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args = std::iter::once(OsString::from("ops")).chain(args);
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let mut terminal = Terminal { out: &mut out, err: &mut err, input: None, err_is_terminal: false };
    let no_console: ops_core::ServeConsole = |_, _| async { Ok("not here".to_owned()) }.boxed_local();
    let (env, clock) = (Env::from_process(), Clock::system());
    let code = Box::pin(ops_core::run(args, env, &clock, &mut terminal, no_console)).await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    println!("{peak}");
    code.into()
}
