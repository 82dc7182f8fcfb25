//! `ops code import`: bad files, and what is said before codes count.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

use common::domain::code_record::CodeKey;
use ops_core::codes::book::void_batch;
use ops_core::codes::check::check;
use ops_core::codes::import::{ImportRequest, import as import_file};
use service_tests::text::{fields, len_of, text_of};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::code::imported::random_looking;
use crate::support::{NOW, Stack, live};

const IMPORT: &str = "code import --campaign chai-bora-2026 --environment live";
const BATCHES: &str = "code batches --campaign chai-bora-2026 --environment live";

fn import(file: &str, more: &str) -> String {
    format!("{IMPORT} {file} {more}")
}

fn import_request(file: &str, batch: Option<&str>) -> ImportRequest {
    ImportRequest {
        file: file.into(),
        batch: batch.map(str::to_owned),
        allow_weak: true,
        ..ImportRequest::default()
    }
}

async fn is_without_codes(stack: &Stack) -> bool {
    stack.book().await.batches.is_empty()
}

#[tokio::test]
async fn damage_of_a_spreadsheet_is_named_by_its_line() {
    let stack = Stack::with_chai().await;
    let text = "\u{feff}\"Code\",\"Note\"\r\n\"KET-01\",\"a, b\"\r\n#REF!,x\r\n1.2E+11,\r\n2026-03-12,\r\n12-Mar,\r\n123.0,\r\n\
                ,x\r\nKET/02,\r\n\"KET\"03,\r\nKET-04,\r\n";
    let file = stack.file("brand.csv", text);
    let said = stack.run(import(&file, "--allow-weak")).await.failed();
    for (line, why) in [
        (3, "an error of a spreadsheet"),
        (4, "a spreadsheet shortened"),
        (5, "a date"),
        (6, "a date"),
        (7, "a decimal point"),
        (8, "no code in its column"),
        (9, "other characters"),
        (10, "a quote in the middle"),
    ] {
        let place = format!("brand.csv:{line}: ");
        let problem = said.lines().find(|shown| shown.contains(&place));
        assert_contains!(problem.expect("a problem"), why);
    }
    assert_lacks!(said, "E+11", "KET");
    assert!(is_without_codes(&stack).await);
    for (name, bytes) in [
        ("empty.csv", &b""[..]),
        ("codes.xlsx", b"PK\x03\x04rest"),
        ("utf16.csv", b"\xff\xfeA\x001\0\n\0"),
    ] {
        let file = stack.file(name, bytes);
        let error = stack.refused(import(&file, ""), "code_file_invalid").await;
        assert_eq!(error.problems[0]["line"], 1);
    }
}

#[tokio::test]
async fn one_bad_line_of_a_long_file_is_named() {
    let stack = Stack::with_chai().await;
    let codes = random_looking(300_000, 8);
    let mut lines: Vec<_> = codes.lines().collect();
    lines[149_999] = "#N/A";
    let file = stack.file("brand.csv", lines.join("\r\n"));
    let error = stack.refused(import(&file, ""), "code_file_invalid").await;
    assert_eq!(error.problems.len(), 1);
    assert_eq!(error.problems[0]["line"], 150_000);
    assert!(is_without_codes(&stack).await);
}

#[tokio::test]
async fn a_dry_run_says_what_is_in_the_file_and_imports_nothing() {
    let stack = Stack::with_chai().await;
    let file = stack.file(
        "brand.csv",
        "promo code\nKETTLE-01\nkettle 02\nKETTLE01\nMUG-7\n",
    );
    let described = stack.json(import(&file, "--allow-weak --dry-run")).await;
    // No whole code is shown.
    insta::assert_snapshot!(format!("{:#}", described["file"]), @r#"
    {
      "characters": "0127EGKLMTU",
      "count": 4,
      "imported_before": 0,
      "lengths": [
        {
          "count": 1,
          "first": {
            "code": "M••7",
            "line": 5
          },
          "last": {
            "code": "M••7",
            "line": 5
          },
          "length": 4
        },
        {
          "count": 3,
          "first": {
            "code": "KE••••01",
            "line": 2
          },
          "last": {
            "code": "KE••••01",
            "line": 4
          },
          "length": 8
        }
      ],
      "repeated": 1
    }
    "#);
    assert_eq!(fields(&described, "dry_run imported"), "true 0");
    let text = stack.fine(import(&file, "--allow-weak --dry-run")).await;
    insta::assert_snapshot!(text, @"
    Nothing was imported, because of --dry-run. The file can be imported: 3 codes would be new.
    The file has 4 codes of 11 different characters: 0127EGKLMTU
    LENGTH  CODES  FIRST     LINE  LAST      LINE
    4       1      M••7      5     M••7      5
    8       3      KE••••01  2     KE••••01  4
    1 lines repeat a code of an earlier line.
    one guess in 560,000 would be right: 3 imported codes, and 1,679,616 texts are made like the shortest of these.
    ");
    assert!(is_without_codes(&stack).await);
    let done = stack.json(import(&file, "--allow-weak")).await;
    assert_eq!(fields(&done, "imported duplicates"), "3 1");
    assert_eq!(done["file"], described["file"]);
    let weak = stack.file("weak.csv", "MUG-8\nMUG-9\n");
    stack
        .refused(import(&weak, "--dry-run"), "codes_too_weak")
        .await;
}

#[tokio::test]
async fn the_column_is_recognised_or_named() {
    let stack = Stack::with_chai().await;
    let text = "Shop;Voucher no.;Printed\nMwanza;AB-1201;x\n\"Arusha; north\";AB-1202;x\n";
    let file = stack.file("brand.csv", text);
    let error = stack.refused(import(&file, ""), "code_file_invalid").await;
    let message = text_of(&error.problems[0]["message"]);
    assert_contains!(message, "several columns", "--column");
    let wrong = stack
        .refused(import(&file, "--column Voucher"), "code_file_invalid")
        .await;
    assert_eq!(wrong.problems.len(), 1);
    let named = stack
        .json(import(&file, "--allow-weak --column 'voucher no.'"))
        .await;
    assert_eq!(named["imported"], 2);

    let heading = stack.file("heading.csv", "Voucher\nAB-1203\nAB-1204\n");
    let error = stack
        .refused(import(&heading, ""), "code_file_invalid")
        .await;
    let message = text_of(&error.problems[0]["message"]);
    assert_contains!(message, "probably the heading");
    let named = import(&heading, "--allow-weak --column Voucher");
    assert_eq!(stack.json(named).await["imported"], 2);
}

#[tokio::test]
async fn heading_that_was_found_is_not_looked_for_again() {
    let stack = Stack::with_chai().await;
    let codes = "code\nABCDEFGH\n".to_owned() + &random_looking(200, 8);
    let file = stack.file("brand.csv", codes);
    assert_eq!(stack.json(import(&file, "")).await["imported"], 201);
}

#[tokio::test]
async fn workbook_is_named_in_one_line() {
    let stack = Stack::with_chai().await;
    let garbage: Vec<u8> = (0..100_000u32)
        .map(|number| u8::try_from(number * 31 % 251).expect("a byte"))
        .collect();
    let excel = "1 this is an Excel workbook: save the sheet as CSV UTF-8";
    for (start, problem) in [
        (&b"PK\x03\x04"[..], excel),
        (b"\xd0\xcf\x11\xe0", excel),
        (
            b"\x89PNG\r\n\x1a\n",
            "1 this line is not UTF-8; save the file as CSV UTF-8",
        ),
        (
            b"book\0",
            "1 this is not a text file; save the list as CSV UTF-8",
        ),
    ] {
        let file = stack.file("book.xlsx", [start, &garbage].concat());
        let error = stack.refused(import(&file, ""), "code_file_invalid").await;
        assert_eq!(error.problems.len(), 1);
        assert_eq!(fields(&error.problems[0], "line message"), problem);
    }
}

#[tokio::test]
async fn numbers_of_different_lengths_are_pointed_out() {
    let stack = Stack::with_chai().await;
    let file = stack.file("brand.csv", "0123456789012\n123456789012\n");
    let text = stack.fine(import(&file, "--allow-weak --dry-run")).await;
    assert_contains!(text, "numbers of different lengths");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn import_into_a_batch_that_is_voided_meanwhile_fails() {
    let stack = Stack::with_chai().await;
    let codes = "KETTLE-01\nKETTLE-02\n";
    let (file, pipe) = (stack.file("brand.csv", codes), stack.arg("pipe.csv"));
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    let (tables, scope) = (stack.tables(), live());
    let request = |file: &str| import_request(file, Some("april"));
    let checked = check(&tables, &scope, &request(&file), |_| ())
        .await
        .expect("codes");
    let (others, runtime) = (tables.clone(), Handle::current());
    let voiding = {
        let (pipe, scope) = (pipe.clone(), scope.clone());
        spawn_blocking(move || {
            // Opens once the import reads codes, after it made the batch.
            let mut pipe = OpenOptions::new().write(true).open(pipe).expect("a pipe");
            runtime
                .block_on(void_batch(&others, &scope, "april", NOW))
                .expect("there is such a batch");
            pipe.write_all(codes.as_bytes()).expect("a reader");
        })
    };
    let imported = import_file(&tables, &scope, &request(&pipe), &checked, |_| ()).await;
    voiding.await.expect("no panic");
    let failure = imported.expect_err("its codes count nowhere");
    assert_eq!(failure.code, "batch_void");
    assert_contains!(failure.message, "april", "stay void");
    let batches = stack.json(&BATCHES).await;
    assert_eq!(fields(&batches["batches"][0], "status count"), "void 2");
}

/// The import ended after storing a part, before counting it.
#[tokio::test]
async fn import_that_was_cut_short_counts_every_code_when_run_again() {
    let stack = Stack::with_chai().await;
    let file = stack.file("brand.csv", "KETTLE-01\nKETTLE-02\nKETTLE-03\nMUG-00001\n");
    let (tables, scope) = (stack.tables(), live());
    let earlier = stack.file("earlier.csv", "KETTLE-03\n");
    stack
        .fine(import(&earlier, "--allow-weak --batch april"))
        .await;
    let request = import_request(&file, Some("april"));
    let checked = check(&tables, &scope, &request, |_| ())
        .await
        .expect("codes");
    let books = &tables.code_books;
    let mut stored = books
        .get(&scope)
        .await
        .expect("it answers")
        .expect("a book");
    stored.book.batches[0].origin.begin_import(
        &checked.digest,
        checked.list.lengths(),
        checked.new_codes(),
    );
    let digest = stored.book.digest("KETTLE01");
    books.save(&scope, &stored).await.expect("it answers");
    let key = CodeKey::Imported {
        digest,
        batch: "april".to_owned(),
    };
    assert!(
        tables
            .codes()
            .import(&scope, &key, "april")
            .await
            .expect("it answers")
    );

    let text = stack.fine(&BATCHES).await;
    assert_contains!(
        text,
        "An import into batch april is running, or was cut short"
    );
    stack
        .refused(
            import(&file, "--allow-weak --batch may"),
            "import_unfinished",
        )
        .await;
    let resumed = stack.json(import(&file, "--allow-weak")).await;
    assert_eq!(fields(&resumed, "batch imported"), "april 2");
    let batches = stack.json(&BATCHES).await;
    assert_eq!(batches["batches"][0]["count"], 4);
    assert_eq!(len_of(&batches["batches"]), 1);
    let again = stack.json(import(&file, "--allow-weak")).await;
    assert_eq!(fields(&again, "batch duplicates"), "null 4");
    assert_lacks!(stack.fine(&BATCHES).await, "cut short");
}

#[tokio::test]
async fn file_of_a_void_batch_begins_no_other_batch() {
    let stack = Stack::with_chai().await;
    let file = stack.file("brand.csv", "KETTLE-01\n");
    stack
        .fine(import(&file, "--allow-weak --batch april"))
        .await;
    let (tables, scope) = (stack.tables(), live());
    let request = import_request(&file, None);
    let checked = check(&tables, &scope, &request, |_| ())
        .await
        .expect("codes");
    let mut stored = tables
        .code_books
        .get(&scope)
        .await
        .expect("it answers")
        .expect("a book");
    stored.book.batches[0]
        .origin
        .begin_import(&checked.digest, &[8].into(), 0);
    tables
        .code_books
        .save(&scope, &stored)
        .await
        .expect("it answers");
    let void = "code void --yes --campaign chai-bora-2026 --environment live --batch april";
    stack.fine(&void).await;
    let again = stack.json(import(&file, "--allow-weak")).await;
    assert_eq!(fields(&again, "batch"), "null");
    assert_eq!(len_of(&stack.json(&BATCHES).await["batches"]), 1);
}
