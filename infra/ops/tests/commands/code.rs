//! `ops code`.

pub(crate) mod imported;
mod voiding;

use std::collections::HashSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::domain::code::Code;
use common::domain::code_record::{CodeKey, CodeRecord};
use common::domain::codebook::{BatchStatus, BookMatch};
use ops_core::codes::check::check;
use ops_core::codes::import::{ImportRequest, import};
use ops_core::codes::mint;
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::text::{fields, len_of};

use crate::support::{CHAI, Ended, Stack, ctrl_c, files_in, live, run};

const LIVE: &str = "--campaign chai-bora-2026 --environment live";

/// Mints into a file of the folder; the options begin with the count.
fn mint(stack: &Stack, name: &str, options: &str) -> String {
    let output = stack.arg(name);
    format!("code mint {LIVE} --output {output} --count {options}")
}

fn codes_in(stack: &Stack, name: &str) -> Vec<String> {
    let text = stack.read(name);
    let mut lines = text.lines().map(str::to_owned);
    assert_eq!(lines.next().as_deref(), Some("code"));
    lines.collect()
}

fn normal(code: &str) -> String {
    code.parse::<Code>().expect("a code").normal()
}

async fn record(stack: &Stack, code: &str) -> Option<CodeRecord> {
    let book = stack.book().await;
    let key = match book.verify(&normal(code)) {
        BookMatch::Minted { serial, .. } | BookMatch::Withdrawn { serial } => {
            CodeKey::Minted(serial)
        }
        BookMatch::PerhapsImported | BookMatch::Unknown => CodeKey::Imported {
            digest: book.digest(&normal(code)),
            batch: String::new(),
        },
    };
    stack
        .tables()
        .codes()
        .get(&live(), &key)
        .await
        .expect("it answers")
}

#[tokio::test]
async fn minted_codes_are_genuine_distinct_and_carry_the_prize() {
    let stack = Stack::with_chai().await;
    let minted = stack
        .json(mint(&stack, "codes.csv", "9000 --prize 'A kettle'"))
        .await;
    assert_eq!(fields(&minted, "batch count"), "batch-1 9000");
    assert!(minted["odds_of_a_guess"].as_f64().expect("odds") < 1e-13);
    let codes = codes_in(&stack, "codes.csv");
    assert_eq!(codes.iter().collect::<HashSet<_>>().len(), 9000);
    let book = stack.book().await;
    for (serial, code) in (0..).zip(&codes) {
        assert_eq!(code.len(), "XXXX-XXXX-XXXX".len());
        let prize = Some("A kettle".to_owned());
        assert_eq!(
            book.verify(&normal(code)),
            BookMatch::Minted { serial, prize }
        );
    }
}

#[tokio::test]
async fn a_second_minting_goes_on_where_the_first_ended() {
    let stack = Stack::with_chai().await;
    stack.fine(mint(&stack, "a.csv", "10")).await;
    let text = stack.fine(mint(&stack, "b.csv", "5 --batch april")).await;
    assert_contains!(text, "15 good minted codes of 12 characters");
    let all: HashSet<_> = codes_in(&stack, "a.csv")
        .into_iter()
        .chain(codes_in(&stack, "b.csv"))
        .collect();
    assert_eq!(all.len(), 15);
    insta::assert_snapshot!(stack.fine(format!("code batches {LIVE}")).await, @"
    BATCH    ORIGIN  CODES  LENGTH  STATUS  PRIZE
    batch-1  minted  10     12      active  -
    april    minted  5      12      active  -
    one guess in 53,000 million million would be right: 15 good minted codes of 12 characters.
    --used counts the used and unused codes of each batch.
    ");
    stack
        .refused(mint(&stack, "c.csv", "5 --batch april"), "batch_exists")
        .await;
    assert_eq!(
        files_in(stack.folder.path()),
        ["a.csv", "b.csv", "chai.yaml"]
    );
}

#[tokio::test]
async fn minting_at_once_never_gives_a_code_twice() {
    let stack = Stack::with_chai().await;
    let tables = stack.tables();
    let mut mintings = Vec::new();
    for _ in 0..8 {
        let books = tables.code_books.clone();
        mintings.push(tokio::spawn(async move {
            let request = mint::MintRequest {
                count: 50,
                ..mint::MintRequest::default()
            };
            let mut out = Vec::new();
            let scope = live();
            mint::mint(&books, &scope, &request, &mut out)
                .await
                .expect("it mints");
            String::from_utf8(out).expect("ASCII")
        }));
    }
    let mut all = HashSet::new();
    for minting in mintings {
        all.extend(minting.await.expect("it ends").lines().map(str::to_owned));
    }
    assert_eq!(all.len(), 400);
    assert!(
        stack
            .book()
            .await
            .batches
            .iter()
            .all(|batch| batch.status == BatchStatus::Active)
    );
}

#[tokio::test]
async fn codes_that_can_be_guessed_are_refused_unless_asked_for() {
    let stack = Stack::with_chai().await;
    // 31^8 is 852,891,037,441: with 852,892 codes, more than one guess in a million is right.
    let error = stack
        .refused(
            mint(&stack, "weak.csv", "852892 --length 8"),
            "codes_too_weak",
        )
        .await;
    assert_contains!(error.message, "--allow-weak");
    assert!(stack.book().await.batches.is_empty());
    assert_eq!(files_in(stack.folder.path()), ["chai.yaml"]);
    stack
        .fine(mint(&stack, "weak.csv", "3 --length 8 --allow-weak"))
        .await;
    assert!(
        codes_in(&stack, "weak.csv")
            .iter()
            .all(|code| code.len() == "XXXX-XXXX".len())
    );
    stack
        .refused(mint(&stack, "b.csv", "3 --length 12"), "length_fixed")
        .await;
}

#[tokio::test]
async fn codes_of_digits_are_minted_and_stay_the_only_ones() {
    let stack = Stack::with_chai().await;
    let minted = mint(&stack, "a.csv", "3 --alphabet digits");
    let minted = stack.json(minted).await;
    assert_eq!(fields(&minted, "alphabet length"), "digits 12");
    for code in codes_in(&stack, "a.csv") {
        let groups: Vec<_> = code.split('-').collect();
        let is_group = |group: &&str| group.len() == 4 && group.bytes().all(|b| b.is_ascii_digit());
        assert!(groups.len() == 3 && groups.iter().all(is_group), "{code}");
        let typed = code.replace('0', "o").replace('1', "l").replace('-', " ");
        let show = format!("code show {LIVE} '{typed}'");
        let shown = stack.json(show).await;
        assert_eq!(shown["code"]["batch"], "batch-1", "{typed}");
    }
    stack
        .refused(
            mint(&stack, "b.csv", "3 --alphabet mixed"),
            "alphabet_fixed",
        )
        .await;
    let text = stack.fine(mint(&stack, "b.csv", "3")).await;
    assert_contains!(text, "6 good minted codes of 12 digits.");
    let error = stack
        .refused(mint(&stack, "c.csv", "1000000"), "codes_too_weak")
        .await;
    assert_contains!(error.message, "--length");
}

#[tokio::test]
async fn existing_file_is_not_overwritten() {
    let stack = Stack::with_chai().await;
    stack.file("codes.csv", "precious");
    stack
        .refused(mint(&stack, "codes.csv", "3"), "file_exists")
        .await;
    assert_eq!(stack.read("codes.csv"), "precious");
    stack
        .refused(mint(&stack, "no/such/folder.csv", "3"), "file_failed")
        .await;
    assert_eq!(stack.book().await.minted, 0);
}

#[tokio::test]
async fn a_minting_that_was_cut_short_is_shown_and_can_be_voided() {
    let stack = Stack::with_chai().await;
    let request = mint::MintRequest {
        count: 5,
        ..mint::MintRequest::default()
    };
    let books = stack.tables().code_books.clone();
    let reservation = mint::reserve(&books, &live(), &request)
        .await
        .expect("it reserves");
    let listed = stack.fine(format!("code batches {LIVE}")).await;
    assert_contains!(
        listed,
        "batch-1  minted  5      12      reserved",
        "void it: ops code void --campaign chai-bora-2026"
    );
    stack
        .fine(format!("code void --yes {LIVE} --batch batch-1"))
        .await;
    let late = mint::activate(&books, &reservation.scope, &reservation.batch.name)
        .await
        .expect_err("it is void");
    assert_eq!(late.code, "batch_void");
}

#[tokio::test]
async fn imported_codes_are_found_however_they_are_written() {
    let stack = Stack::with_chai().await;
    let file = stack.file(
        "brand.csv",
        "code\nkettle-01\nKETTLE 02\nkettle01\nKETTLE-03\n",
    );
    let import = format!("code import {LIVE} {file} --allow-weak --batch spring --prize 'A mug'");
    let done = stack.json(&import).await;
    assert_eq!(fields(&done, "imported duplicates"), "3 1");
    let found = record(&stack, "Kettle 0-2").await.expect("it was imported");
    assert_eq!(found.batch.as_deref(), Some("spring"));
    // A second time changes nothing.
    assert_eq!(stack.json(&import).await["imported"], 0);

    let more = stack.file("more.csv", "KETTLE-03\nKETTLE-04\n");
    stack
        .fine(format!(
            "code import {LIVE} {more} --allow-weak --batch spring"
        ))
        .await;
    let listed = stack.json(format!("code batches {LIVE}")).await;
    let names = "batch origin count lengths prize status";
    assert_eq!(
        fields(&listed["batches"][0], names),
        "spring imported 4 8 A mug active"
    );
    assert_eq!(len_of(&listed["batches"]), 1);
    let other = format!("code import {LIVE} {more} --batch spring --prize 'A car'");
    stack.refused(&other, "prize_differs").await;
}

#[tokio::test]
async fn one_bad_line_imports_nothing_and_repeats_no_code() {
    let stack = Stack::with_chai().await;
    stack.fine(mint(&stack, "minted.csv", "1")).await;
    let minted = codes_in(&stack, "minted.csv").concat();
    let file = stack.file(
        "bad.csv",
        format!("GOOD-1\nTEST-0-VALID\n{minted}/1\nA;SECRET\n"),
    );
    let said = stack.run(import_args(&file, "")).await.failed();
    assert_contains!(said, "bad.csv:2: ", "bad.csv:3: ", "bad.csv:4: ");
    assert_lacks!(said, minted, "SECRET");
    assert_eq!(stack.book().await.batches.len(), 1);
    assert_eq!(record(&stack, "GOOD-1").await, None);
    let empty = stack.file("empty.csv", "code\n\n");
    stack
        .refused(format!("code import {LIVE} {empty}"), "code_file_invalid")
        .await;
}

#[tokio::test]
async fn a_campaign_without_codes_is_given_none() {
    let stack = Stack::with_chai().await;
    let without = CHAI.replace("checked_by: service", "checked_by: none");
    let file = stack.file("chai.yaml", without);
    stack
        .fine(format!("campaign apply --yes --allow-anyone {file}"))
        .await;
    stack
        .refused(mint(&stack, "a.csv", "3"), "campaign_without_codes")
        .await;
    assert_eq!(files_in(stack.folder.path()), ["chai.yaml"]);
    let other = "code batches --campaign nobody --environment test";
    stack.refused(&other, "campaign_unknown").await;
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_leaves_no_file_and_a_batch_that_does_not_count() {
    let stack = Stack::with_chai().await;
    let ready = stack.file("ready.json", stack.ready_file().to_string());
    let minting = mint(
        &stack,
        "codes.csv",
        &format!("1000000000 --env-file {ready}"),
    );
    let minting = Command::new(env!("CARGO_BIN_EXE_ops"))
        .args(minting.split(' '))
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let begun = async {
        let written =
            |name: &String| std::fs::metadata(stack.path(name)).map_or(0, |file| file.len());
        let is_begun = |name: &String| name.ends_with(".partial") && written(name) > 500_000;
        while !files_in(stack.folder.path()).iter().any(is_begun) {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), begun).await;
    assert!(in_time.is_ok());
    let ended = ctrl_c(minting).await;
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert_contains!(
        said,
        "minting was stopped: nothing is left of it, and batch batch-1 is void"
    );
    assert_eq!(files_in(stack.folder.path()), ["chai.yaml", "ready.json"]);
    assert_eq!(stack.book().await.batches[0].status, BatchStatus::Void);
}

fn import_args(file: &str, more: &str) -> String {
    format!("code import {LIVE} {file} {more}")
}

#[tokio::test]
async fn campaign_whose_codes_a_partner_checks_is_given_none() {
    let stack = Stack::with_chai().await;
    stack.fine(mint(&stack, "before.csv", "1")).await;
    stack.apply(crate::campaign::with_partner()).await;
    let brand = stack.file("brand.csv", "KETTLE-01\n");
    for refused in [
        mint(&stack, "a.csv", "3"),
        import_args(&brand, ""),
        format!("code void --yes {LIVE} --batch batch-1"),
    ] {
        let message = stack
            .refused(&refused, "codes_checked_by_partner")
            .await
            .message;
        assert_contains!(
            message,
            "get the codes from the partner",
            "set code.checked_by to `service`"
        );
    }
    let batches = stack.book().await.batches;
    assert_eq!((batches.len(), batches[0].status), (1, BatchStatus::Active));
}

/// Mints five codes, with a fault at one database call; `None` if the command died.
async fn mint_cut(stack: &Stack, cuts: &Interceptor) -> Option<Ended> {
    let env = cuts
        .in_front_of_all(&["AWS_ENDPOINT_URL_DYNAMODB"], &stack.env)
        .await;
    let args = mint(stack, "codes.csv", "5 --batch april");
    tokio::select! {
        ended = run(&args, env, &stack.clock) => Some(ended),
        () = cuts.death() => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_of_a_cut_minting_is_there_only_when_its_codes_count() {
    let mut calls = 0;
    for how in FaultKind::ALL {
        for call in 0.. {
            let stack = Stack::with_chai().await;
            let cuts = Interceptor::at(call, how);
            let ended = mint_cut(&stack, &cuts).await;
            let book = stack.book().await;
            let active = book
                .batches
                .iter()
                .filter(|batch| batch.status == BatchStatus::Active);
            let (counts, is_there) = (active.count() > 0, stack.path("codes.csv").exists());
            let context = format!("{how:?} at call {call}");
            assert!(
                counts || !is_there,
                "{context}: a file of codes that do not count"
            );
            let was_cut = ended.is_none();
            if let Some(ended) = ended {
                ended.fine();
                assert!(is_there && counts, "{context}");
                assert_eq!((book.batches.len(), book.minted), (1, 5), "{context}");
            }
            if !cuts.was_made() {
                assert!(!was_cut, "nothing was cut");
                calls += call;
                break;
            }
        }
    }
    assert!(
        calls >= 3 * 5,
        "the campaign, the book twice read and twice written: {calls}"
    );
}
