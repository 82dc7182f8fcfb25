//! Imported codes: their lengths, odds and batches.

use super::*;

/// Different codes of this length that look random.
pub(crate) fn random_looking(count: u64, length: usize) -> String {
    let code = |number: u64| {
        let code = format!(
            "{:032X}",
            u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 64
        );
        code[..length].to_owned() + "\n"
    };
    (1..=count).map(code).collect()
}

#[tokio::test]
async fn imported_length_is_not_minted() {
    let stack = Stack::with_chai().await;
    let brand = stack.file("brand.csv", random_looking(300, 12));
    assert_eq!(stack.json(import_args(&brand, "")).await["imported"], 300);
    stack
        .refused(mint(&stack, "a.csv", "2 --length 12"), "length_imported")
        .await;
    let ended = stack.run(mint(&stack, "a.csv", "2")).await;
    let said = "Codes of 12 characters are imported in this environment, so these have 13.\n";
    assert!(
        ended.err.starts_with(said),
        "before it prints: {}",
        ended.err
    );
    assert_contains!(ended.out, "2 good minted codes of 13 characters");
    let book = stack.book().await;
    for code in codes_in(&stack, "a.csv") {
        assert_eq!(normal(&code).len(), 13);
        assert!(matches!(
            book.verify(&normal(&code)),
            BookMatch::Minted { .. }
        ));
    }
    let more = stack.file("more.csv", random_looking(400, 12));
    assert_eq!(
        stack.json(import_args(&more, "")).await["imported"],
        100,
        "12 stays imported"
    );
}

#[tokio::test]
async fn minted_length_is_not_imported() {
    let stack = Stack::with_chai().await;
    stack.fine(mint(&stack, "a.csv", "1")).await;
    let brand = stack.file(
        "brand.csv",
        random_looking(300, 12) + &random_looking(9, 11),
    );
    let error = stack
        .refused(import_args(&brand, ""), "length_minted")
        .await;
    let message = "300 of these codes have 12 characters, the length of the codes minted in this environment, and a \
                   length is either minted or imported; import them into another campaign";
    assert_eq!(error.message, message);
    assert_eq!(stack.book().await.batches.len(), 1);
    let other = stack.file("other.csv", random_looking(300, 11));
    assert_eq!(stack.json(import_args(&other, "")).await["imported"], 300);
}

#[tokio::test]
async fn mint_and_import_at_once_never_share_a_length() {
    let stack = Stack::with_chai().await;
    let brand = stack.file("brand.csv", random_looking(300, 12));
    let (scope, tables) = (live(), stack.tables());
    let request = ImportRequest {
        file: brand.into(),
        ..ImportRequest::default()
    };
    let checked = check(&tables, &scope, &request, |_| ())
        .await
        .expect("codes");
    // Between the import's look and write.
    stack.fine(mint(&stack, "a.csv", "1")).await;
    let refused = import(&tables, &scope, &request, &checked, |_| ())
        .await
        .expect_err("12 is minted");
    assert_eq!(refused.code, "length_minted");
    assert_eq!(stack.book().await.imported_codes(), 0);
}

#[tokio::test]
async fn code_with_other_characters_is_not_imported() {
    let stack = Stack::with_chai().await;
    let lines = "KETTLE\u{c9}-01\nKETTLE/01\nABCD-EFG0\n";
    let import = import_args(&stack.file("brand.csv", lines), "--allow-weak");
    let problems = stack.refused(import, "code_file_invalid").await.problems;
    let lines: Vec<_> = problems.iter().map(|one| &one["line"]).collect();
    assert_eq!(lines, [1, 2], "{problems:?}");
}

#[tokio::test]
async fn imported_codes_that_can_be_guessed_are_refused() {
    let stack = Stack::with_chai().await;
    let digits = |from: u32| -> String {
        let codes = (0..100).map(|number| format!("{}\n", from + number * 7_919));
        codes.collect()
    };
    let weak = stack.file("weak.csv", digits(10_000_000));
    let text = stack.fine(import_args(&weak, "")).await;
    assert_contains!(
        text,
        "one guess in 1 million would be right: 100 imported codes"
    );
    for (codes, said) in [
        (
            digits(20_000_000),
            "one guess in 500,000 would be right, and one guess in 1 million is accepted",
        ),
        (
            random_looking(99, 12),
            "the list has 99 codes, and fewer than 100",
        ),
    ] {
        let file = stack.file("more.csv", codes);
        let error = stack
            .refused(import_args(&file, ""), "codes_too_weak")
            .await;
        assert!(error.message.starts_with(said), "{}", error.message);
    }
}

#[tokio::test]
async fn list_that_is_imported_again_makes_no_batch() {
    let stack = Stack::with_chai().await;
    let file = stack.file("brand.csv", "KETTLE-01\nKETTLE-02\n");
    let first = stack.json(import_args(&file, "--allow-weak")).await;
    for batch in ["", "--batch batch-1", "--batch other"] {
        let again = stack.json(import_args(&file, batch)).await;
        assert_eq!(again["odds_of_a_guess"], first["odds_of_a_guess"]);
        assert_eq!(
            fields(&again, "batch imported duplicates void"),
            "null 0 2 0"
        );
    }
    let text = stack.fine(import_args(&file, "")).await;
    assert!(
        text.starts_with("Nothing was imported: all 2 codes were there before.\n"),
        "{text}"
    );
    assert_eq!(stack.book().await.batches.len(), 1);
}

#[tokio::test]
async fn codes_of_a_void_batch_stay_void() {
    let stack = Stack::with_chai().await;
    let file = stack.file("brand.csv", "KETTLE-01\nKETTLE-02\n");
    stack
        .fine(import_args(&file, "--allow-weak --batch april"))
        .await;
    stack
        .fine(format!("code void --yes {LIVE} --batch april"))
        .await;
    let more = stack.file("more.csv", "KETTLE-01\nKETTLE-02\nKETTLE-03\n");
    let text = stack.fine(import_args(&more, "--allow-weak")).await;
    assert_contains!(
        text,
        "Imported 1 codes as batch batch-2; 2 were there before.",
        "2 of those that were there before are void and stay void",
        "Print other codes in their place and import those."
    );
}
