//! The `receipt` block: valid fields, and each mistake's message.

use std::fmt::Write;

use common::domain::receipt::rules::{Branch, OnNoMatch, Product, ProductRange, ReceiptRules};
use proptest::prelude::*;

use super::tests::{MINIMAL, problem_of, problems};
use super::*;

const WHOLE: &str = "\
receipt:
  required: false
  typed: true
  on_no_match: decline
  max_entries: 12
  ranges:   [{ name: Classic, tag: null }, { name: Gold, tag: Rich and dark }]
  products:
    - { key: chai-250, range: Classic, label: 250 g, name: Chai Bora 250 g, match: [\"CHAI BORA 250\"] }
    - { key: gold_1, range: Gold, label: 1 kg, name: Gold 1 kg, color: \"#c80\", image: /gold.png,
        match: [GOLD 1KG, GLD1], entries: 4 }
  branches:
    - { key: kko, name: Kariakoo, city: Dar es Salaam, merchant: Duka Kuu, tin: \"100147181\", serials: [\"03TZ343001520\"] }
    - { key: ub, name: Ubungo, city: Dar es Salaam, merchant: Duka Kuu, tin: \"100-147-181\" }
  draw_period: weekly
";

/// A valid block with a product at line 8.
fn product(fields: &str) -> String {
    format!("receipt:\n  ranges: [{{ name: Classic }}]\n  products: [{{ {fields} }}]\n")
}

/// A valid block with a branch at line 7.
fn branch(fields: &str) -> String {
    format!("receipt:\n  branches: [{{ city: Dar, merchant: Duka, {fields} }}]\n")
}

fn rules(lines: &str) -> ReceiptRules {
    let file = read("f.yaml", &format!("{MINIMAL}{lines}")).expect(lines);
    file.campaign.receipt.expect("a receipt block")
}

#[test]
fn a_whole_block_is_read() {
    let text = |text: &str| text.to_owned();
    let expected = ReceiptRules {
        required: false,
        typed: true,
        on_no_match: OnNoMatch::Decline,
        max_entries: 12,
        ranges: vec![
            ProductRange {
                name: text("Classic"),
                tag: None,
            },
            ProductRange {
                name: text("Gold"),
                tag: Some(text("Rich and dark")),
            },
        ],
        products: vec![
            Product {
                key: text("chai-250"),
                range: text("Classic"),
                label: text("250 g"),
                name: text("Chai Bora 250 g"),
                color: None,
                image: None,
                matches: vec![text("CHAI BORA 250")],
                entries: 1,
            },
            Product {
                key: text("gold_1"),
                range: text("Gold"),
                label: text("1 kg"),
                name: text("Gold 1 kg"),
                color: Some(text("#c80")),
                image: Some(text("/gold.png")),
                matches: vec![text("GOLD 1KG"), text("GLD1")],
                entries: 4,
            },
        ],
        branches: ["kko", "ub"]
            .map(|key| Branch {
                key: text(key),
                name: text(if key == "kko" { "Kariakoo" } else { "Ubungo" }),
                city: text("Dar es Salaam"),
                merchant: text("Duka Kuu"),
                tin: text("100147181"),
                serials: if key == "kko" {
                    vec![text("03TZ343001520")]
                } else {
                    Vec::new()
                },
            })
            .into(),
        draw_period: Some(text("weekly")),
    };
    assert_eq!(rules(WHOLE), expected);
}

#[test]
fn an_empty_block_takes_any_purchase_and_requires_one() {
    let usual = ReceiptRules {
        required: true,
        ..ReceiptRules::default()
    };
    assert_eq!(rules("receipt: {}\n"), usual);
    assert_eq!(
        rules("receipt: { products: [], branches: null, ranges: [], on_no_match: review }\n"),
        usual
    );
}

#[test]
fn what_always_earns_more_than_one_receipt_may_is_named() {
    let earns = |entries: u32| {
        product(&format!(
            "key: a, range: Classic, label: a, name: a, match: [A], entries: {entries}"
        ))
    };
    assert_eq!(rules(&earns(100)).max_entries, 100);
    assert_eq!(
        rules(&format!("{}  max_entries: 101\n", earns(101))).max_entries,
        101
    );
    let hint = "so that every receipt with this product would go to a person; raise one or lower the other";
    assert_eq!(
        problems(&format!("{MINIMAL}{}", earns(101))),
        [format!(
            "f.yaml:8: receipt.products[0].entries is more than the 100 of receipt.max_entries, {hint}"
        )]
    );
    assert_eq!(
        problems(&format!(
            "{MINIMAL}entries_per_submission: 3\nreceipt: {{ max_entries: 2 }}\n"
        )),
        [
            "f.yaml:6: entries_per_submission is more than the 2 of receipt.max_entries, so that every receipt would \
          go to a person; raise one or lower the other"
        ]
    );
}

#[test]
fn a_mistake_in_the_block_is_named_by_its_line_and_path() {
    for (lines, expected) in [
        (
            "receipt: { required: yes }",
            "f.yaml:6: receipt.required must be true or false",
        ),
        (
            "receipt:\n  typed: 1",
            "f.yaml:7: receipt.typed must be true or false",
        ),
        (
            "receipt: { on_no_match: accept }",
            "f.yaml:6: receipt.on_no_match must be `review` or `decline`",
        ),
        (
            "receipt: { on_no_mach: review }",
            "f.yaml:6: receipt.on_no_mach is not a field of a campaign file; did you mean `on_no_match`?",
        ),
        (
            "receipt: { max_entries: 10001 }",
            "f.yaml:6: receipt.max_entries must be a whole number of at most 10000",
        ),
        (
            "receipt: { draw_period: '' }",
            "f.yaml:6: receipt.draw_period must be 1 to 120 characters",
        ),
        (
            "receipt: { ranges: Classic }",
            "f.yaml:6: receipt.ranges must be a list, such as `[ ... ]` or one line with `- ` for each",
        ),
        (
            "receipt: { ranges: [Classic] }",
            "f.yaml:6: receipt.ranges[0] must hold the fields `name`, `tag`",
        ),
        (
            "receipt:\n  ranges:\n    - name: Classic\n    - tag: x",
            "f.yaml:9: receipt.ranges[1].name is missing; add it, such as `name: Classic`",
        ),
        (
            "receipt:\n  ranges:\n    - name: Classic\n    - name: Classic",
            "f.yaml:9: receipt.ranges[1].name is that of an earlier one in this list; give each its own",
        ),
    ] {
        assert_eq!(problem_of(lines), expected);
    }
}

#[test]
fn a_mistake_in_a_product_is_named() {
    let good = "key: a, range: Classic, label: x, name: x, match: [x]";
    for (fields, field, message) in [
        (
            good.replace("key: a, ", ""),
            "key",
            "is missing; add it, such as `key: chai-250`",
        ),
        (
            good.replace("key: a", "key: chai 250"),
            "key",
            "must be 1 to 64 of letters, digits, `-` and `_`, such as `chai-250`",
        ),
        (
            good.replace("key: a", &format!("key: {}", "a".repeat(65))),
            "key",
            "must be 1 to 64 of letters, digits, `-` and `_`, such as `chai-250`",
        ),
        (
            good.replace("Classic", "Clasic"),
            "range",
            "is not a range of this file; did you mean `Classic`?",
        ),
        (
            good.replace("Classic", "Gold"),
            "range",
            "is not a range of this file; here are `Classic`",
        ),
        (
            good.replace("label: x, ", ""),
            "label",
            "is missing; add it, such as `label: 250 g`",
        ),
        (
            good.replace("label: x", &format!("label: {}", "x".repeat(41))),
            "label",
            "must be 1 to 40 characters",
        ),
        (
            good.replace("name: x", &format!("name: {}", "x".repeat(121))),
            "name",
            "must be 1 to 120 characters",
        ),
        (
            good.replace(", match: [x]", ""),
            "match",
            "is missing; add it, such as `match: [\"CHAI BORA 250\"]`",
        ),
        (
            good.replace("[x]", "[]"),
            "match",
            "must hold at least one text that tills print, such as `[\"CHAI BORA 250\"]`",
        ),
        (
            good.replace("[x]", "[x, '--']"),
            "match[1]",
            "must hold a letter or a digit: nothing else is compared",
        ),
        (
            good.replace("[x]", "[250]"),
            "match[0]",
            "must be text; put it in quotes when it looks like something else",
        ),
        (
            good.replace("[x]", &format!("[{}]", "x".repeat(101))),
            "match[0]",
            "must be 1 to 100 characters",
        ),
        (
            good.replace("[x]", &format!("[{}x]", "x, ".repeat(20))),
            "match",
            "must be a list of at most 20, not of 21",
        ),
        (
            format!("{good}, entries: 0"),
            "entries",
            "must be a whole number of at least 1",
        ),
        (
            format!("{good}, entries: 1001"),
            "entries",
            "must be a whole number of at most 1000",
        ),
        (
            format!("{good}, color: ''"),
            "color",
            "must be 1 to 40 characters",
        ),
        (
            format!("{good}, image: []"),
            "image",
            "must be text; put it in quotes when it looks like something else",
        ),
    ] {
        let expected = format!("f.yaml:8: receipt.products[0].{field} {message}");
        assert_eq!(problem_of(&product(&fields)), expected);
    }
    let two = product(&format!("{good} }}, {{ {good}"));
    assert!(
        problem_of(&two).starts_with("f.yaml:8: receipt.products[1].key is that of an earlier one")
    );
    let without_ranges = format!("receipt: {{ products: [{{ {good} }}] }}");
    let expected = "f.yaml:6: receipt.products[0].range is not a range of this file; add it, such as \
                    `ranges: [{ name: Classic }]`";
    assert_eq!(problem_of(&without_ranges), expected);
}

#[test]
fn a_mistake_in_a_branch_is_named() {
    let good = "key: a, name: x, tin: \"100147181\"";
    for (fields, field, message) in [
        (
            good.replace("name: x, ", ""),
            "name",
            "is missing; add it, such as `name: Kariakoo`",
        ),
        (
            good.replace("\"100147181\"", "100147181"),
            "tin",
            "must be text; put it in quotes when it looks like something else",
        ),
        (
            good.replace("100147181", "10014718"),
            "tin",
            "must be a taxpayer number of 9 digits, in quotes, such as `\"100147181\"`",
        ),
        (
            good.replace("100147181", "10014718A"),
            "tin",
            "must be a taxpayer number of 9 digits, in quotes, such as `\"100147181\"`",
        ),
        (
            format!("{good}, serials: [03TZ-1]"),
            "serials[0]",
            "must be 1 to 40 letters and digits, such as `\"03TZ343001520\"`",
        ),
        (
            format!("{good}, serials: [03TZ1, 03tz1]"),
            "serials[1]",
            "is receipt.branches[0].serials[0] already, with the same tin; keep one of them",
        ),
        (
            format!("{good}, serials: 03TZ1"),
            "serials",
            "must be a list, such as `[ ... ]` or one line with `- ` for each",
        ),
        (
            format!(
                "{good}, serials: [{}a50]",
                (0..50).fold(String::new(), |list, n| list + &format!("a{n}, "))
            ),
            "serials",
            "must be a list of at most 50, not of 51",
        ),
    ] {
        let expected = format!("f.yaml:7: receipt.branches[0].{field} {message}");
        assert_eq!(problem_of(&branch(&fields)), expected);
    }
}

#[test]
fn no_receipt_can_be_of_two_branches() {
    let two = |one: &str, other: &str| {
        branch(&format!(
            "key: a, name: x, {one} }}, {{ city: Dar, merchant: Duka, key: b, name: x, {other}"
        ))
    };
    let same_device = two(
        "tin: \"100147181\", serials: [03TZ1]",
        "tin: 100-147-181, serials: [03TZ2, 03tz1]",
    );
    let expected = "f.yaml:7: receipt.branches[1].serials[1] is receipt.branches[0].serials[0] already, with the \
                    same tin; keep one of them";
    assert_eq!(problem_of(&same_device), expected);
    let both_every_device = two("tin: \"100147181\"", "tin: \"100147181\", serials: []");
    let expected = "f.yaml:7: receipt.branches[1].tin is receipt.branches[0].tin already, and neither branch has \
                    serials; list the serials of one of them";
    assert_eq!(problem_of(&both_every_device), expected);
    for good in [
        two("tin: \"100147181\"", "tin: \"100147181\", serials: [03TZ1]"),
        two(
            "tin: \"100147181\", serials: [03TZ1]",
            "tin: \"100147182\", serials: [03TZ1]",
        ),
    ] {
        assert_eq!(rules(&good).branches.len(), 2);
    }
}

#[test]
fn every_problem_of_the_block_is_named_at_once() {
    let text = "receipt:\n  typed: 7\n  products:\n    - range: X\n      entries: 0\n  branches: [{ tin: '1' }]\n";
    let found = problems(&format!("{MINIMAL}{text}"));
    let fields: Vec<_> = found
        .iter()
        .filter_map(|problem| problem.split(' ').nth(1))
        .collect();
    assert_eq!(
        fields,
        [
            "receipt.typed",
            "receipt.products[0].key",
            "receipt.products[0].label",
            "receipt.products[0].name",
            "receipt.products[0].match",
            "receipt.products[0].range",
            "receipt.products[0].entries",
            "receipt.branches[0].key",
            "receipt.branches[0].name",
            "receipt.branches[0].city",
            "receipt.branches[0].merchant",
            "receipt.branches[0].tin",
        ]
    );
}

#[test]
fn lists_have_an_end_and_so_has_the_record() {
    let mut branches = String::from("receipt:\n  branches:\n");
    for number in 0..501 {
        let tin = format!("\"{:09}\"", number);
        writeln!(
            branches,
            "  - {{ key: b{number}, name: x, city: x, merchant: x, tin: {tin} }}"
        )
        .expect("text");
    }
    assert_eq!(
        problem_of(&branches),
        "f.yaml:8: receipt.branches must be a list of at most 500, not of 501"
    );
    let ranges = format!(
        "receipt: {{ ranges: [{}] }}",
        (0..51)
            .map(|n| format!("{{ name: r{n} }}"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    assert_eq!(
        problem_of(&ranges),
        "f.yaml:6: receipt.ranges must be a list of at most 50, not of 51"
    );
    let products = format!("receipt: {{ products: [{}1] }}", "1, ".repeat(200));
    assert_eq!(
        problem_of(&products),
        "f.yaml:6: receipt.products must be a list of at most 200, not of 201"
    );
    let long = "x".repeat(120);
    let mut large = String::from("receipt:\n  branches:\n");
    for number in 0..500 {
        let serials: Vec<_> = (0..25).map(|n| format!("S{number:035}{n:04}")).collect();
        let serials = serials.join(", ");
        let line =
            format!("key: b{number}, name: {long}, city: x, merchant: x, tin: \"100147181\"");
        writeln!(large, "  - {{ {line}, serials: [{serials}] }}").expect("text");
    }
    let found = problem_of(&large);
    assert!(
        found.starts_with("f.yaml:1: the campaign takes ") && found.contains("; shorten its names"),
        "{found}"
    );
}

proptest! {
    #[test]
    fn a_block_with_something_replaced_is_read_or_refused(
        at in 0..WHOLE.len(), length in 0usize..30, with in "[-:{}\\[\\]&*!|>'\"%@`#,?~a0 \n\t]{0,12}"
    ) {
        let mut text = WHOLE.to_owned();
        let end = (at + length).min(text.len());
        text.replace_range(at..end, &with);
        if let Err(problems) = read("f.yaml", &format!("{MINIMAL}{text}")) {
            prop_assert!(!problems.is_empty());
        }
    }
}
