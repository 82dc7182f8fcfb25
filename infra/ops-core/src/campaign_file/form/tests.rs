//! Forms read as files do.

use super::*;
use crate::campaign_file::tests::MINIMAL;
use crate::campaign_file::{self, write};

fn typed(fields: &[(&str, &str)]) -> Typed {
    let mut typed = empty();
    let minimal = [("slug", "demo"), ("name", "Demo"), ("brand", "Demo")];
    for (path, text) in minimal.iter().chain(fields) {
        typed.insert((*path).to_owned(), (*text).to_owned());
    }
    typed
}

fn campaign(fields: &[(&str, &str)]) -> Campaign {
    read(&typed(fields)).expect("a campaign").campaign
}

fn problems(fields: &[(&str, &str)]) -> Vec<String> {
    let found = read(&typed(fields)).expect_err("problems");
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_campaign_reads_as_its_form_was_filled() {
    for text in [write::tests::WHOLE, write::tests::PARTNER, MINIMAL] {
        let campaign = campaign_file::read("a.yaml", text).expect(text).campaign;
        let typed = fill(&campaign).expect("a form");
        let file = read(&typed).unwrap_or_else(|problems| panic!("{problems:?} {typed:?}"));
        assert_eq!(file.campaign, campaign, "{typed:?}");
        assert!(!file.says_paused, "it keeps a pause");
    }
}

#[test]
fn an_empty_form_says_what_is_missing() {
    let found = read(&empty()).expect_err("problems");
    let fields: Vec<_> = found
        .iter()
        .filter_map(|one| one.field.as_deref())
        .collect();
    assert_eq!(fields, ["slug", "name", "brand"]);
}

#[test]
fn times_are_local_to_the_campaigns_zone() {
    let ends = [
        ("window.start", "2026-03-01T08:00"),
        ("window.end", "2026-03-02T00:00:30"),
    ];
    let window = campaign(&ends).window;
    let times = [window.start, window.end].map(|at| at.expect("a time").to_string());
    assert_eq!(
        times,
        ["2026-03-01T05:00:00.000Z", "2026-03-01T21:00:30.000Z"]
    );
    let found = problems(&[
        ("window.start", "2026-03-02T00:00"),
        ("window.end", "2026-03-01T00:00"),
    ]);
    assert_eq!(
        found,
        ["form:1: window.end must be later than window.start"]
    );
    let found = problems(&[("window.start", "soon")]);
    assert!(
        found
            .concat()
            .contains("window.start must be a date and time"),
        "{found:?}"
    );
}

#[test]
fn a_block_is_left_out_while_its_switch_is_off() {
    let consent = [("consent.version", "1"), ("consent.en", "I agree")];
    assert_eq!(campaign(&consent).consent, None);
    let found = problems(&[&consent[..], &[("consent", "on")]].concat());
    assert_eq!(
        found,
        ["form:1: consent.sw is missing; add it, such as `sw: \"Nakubali ...\"`"]
    );
    let found = problems(&[("limits.phone_daily", "three")]);
    assert_eq!(
        found,
        ["form:1: limits.phone_daily must be a whole number of at least 1"]
    );
}

#[test]
fn lines_are_items_as_typed_or_pasted() {
    let products = "chai-250 | Classic | 250 g | Chai 250 g | | | CHAI 250; CHAI250 | 2\n\n\
                    chai-50\tClassic\t50 g\tChai 50 g\t\t\tCHAI 50\n\
                    { key: chai-1, range: Classic, label: \"1; g\", name: \"a|b\", match: [X] }";
    let on = [
        ("receipt", "on"),
        ("receipt.required", "on"),
        ("receipt.ranges", "Classic"),
    ];
    let rules = campaign(&[&on[..], &[("receipt.products", products)]].concat()).receipt;
    let products = rules.expect("rules").products;
    let read: Vec<_> = products
        .iter()
        .map(|product| (product.key.as_str(), product.name.as_str(), product.entries))
        .collect();
    let wanted = [
        ("chai-250", "Chai 250 g", 2),
        ("chai-50", "Chai 50 g", 1),
        ("chai-1", "a|b", 1),
    ];
    assert_eq!(read, wanted);
    assert_eq!(
        products.first().map(|product| product.matches.len()),
        Some(2)
    );
}

#[test]
fn a_problem_of_an_item_has_its_line() {
    let on = [("receipt", "on"), ("receipt.ranges", "Classic")];
    let lines = "chai | Clasic | 250 g | Chai | | | CHAI\n\na | Classic | b | c | d | e | f | 1 | more\n{ broken";
    let found = problems(&[&on[..], &[("receipt.products", lines)]].concat());
    let starts = [
        "form:3: receipt.products[1] has more cells than key, range",
        "form:4: receipt.products[2] ",
    ];
    for start in starts {
        assert!(
            found.iter().any(|one| one.starts_with(start)),
            "{start} {found:?}"
        );
    }
    let found = problems(
        &[
            &on[..],
            &[("receipt.products", lines.lines().next().expect("one"))],
        ]
        .concat(),
    );
    let said =
        "form:1: receipt.products[0].range is not a range of this file; did you mean `Classic`?";
    assert_eq!(found, [said]);
}

#[test]
fn lines_of_yaml_that_cannot_be_read_are_not_missing() {
    let partner = [
        ("code.checked_by", "partner"),
        ("partner", "on"),
        ("partner.url", "https://partner.example/redeem"),
        ("partner.reply.code", "/status"),
        (
            "partner.body",
            "{ code: \"{{code}}\", id: \"{{reference}}\"",
        ),
        ("partner.outcomes", "0: entered\n20: invalid"),
    ];
    let found = problems(&partner);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found.concat().contains("partner.body this is not YAML"),
        "{found:?}"
    );
}
