//! Campaign files: valid fields, and each mistake's message.

use common::domain::campaign::{CodePolicy, PhoneLimits, Retention, WrongCodeLimit};
use common::domain::message::{Language, MessageKey};
use common::domain::timestamp::Timestamp;
use proptest::prelude::*;

use super::*;

const GOOD: &str = "\
slug: chai-bora-2026
name: Chai Bora Shinda
brand: Chai Bora
timezone: Africa/Dar_es_Salaam
paused: false
window: { start: 2026-01-01T00:00:00+03:00, end: null }
code: { checked_by: service }              # service | partner | none
limits: { phone_daily: 3, phone_total: 20 }
entries_per_submission: 1
messages: { en: { entered: \"You are in!\" }, sw: {} }
";

pub(super) const MINIMAL: &str = "\
slug: demo
name: Demo
brand: Demo
timezone: UTC
code: { checked_by: none }
";

pub(super) fn problems(text: &str) -> Vec<String> {
    let problems = read("f.yaml", text).expect_err(text);
    problems.iter().map(ToString::to_string).collect()
}

/// The only problem of these lines, from line 6 of the minimal campaign.
pub(super) fn problem_of(lines: &str) -> String {
    let found = problems(&format!("{MINIMAL}{lines}"));
    assert_eq!(found.len(), 1, "{found:?}");
    found.concat()
}

#[test]
fn a_good_file_is_read_whole() {
    let file = read("f.yaml", GOOD).expect("it is good");
    assert!(file.says_paused);
    let campaign = file.campaign;
    assert_eq!(campaign.slug.as_str(), "chai-bora-2026");
    assert_eq!(
        (campaign.name.as_str(), campaign.brand.as_str()),
        ("Chai Bora Shinda", "Chai Bora")
    );
    assert_eq!(campaign.timezone.name(), "Africa/Dar_es_Salaam");
    assert_eq!(
        campaign.window.start.map(|at| at.to_string()).as_deref(),
        Some("2025-12-31T21:00:00.000Z")
    );
    assert_eq!(campaign.window.end, None);
    assert_eq!(campaign.code, CodePolicy::Service);
    assert_eq!(
        campaign.limits,
        PhoneLimits {
            phone_daily: Some(3),
            phone_total: Some(20)
        }
    );
    assert_eq!(
        campaign.messages.text(MessageKey::Entered, Language::En),
        "You are in!"
    );
}

#[test]
fn consent_and_retention_are_read() {
    let lines = "consent: { version: \"2026-01\", en: I agree, sw: Nakubali }\nretention: { photos_days: 90 }\n";
    let campaign = read("f.yaml", &format!("{MINIMAL}{lines}"))
        .expect("it is good")
        .campaign;
    let consent = campaign.consent.expect("a text");
    assert_eq!(
        (
            consent.version.as_str(),
            consent.en.as_str(),
            consent.sw.as_str()
        ),
        ("2026-01", "I agree", "Nakubali")
    );
    assert_eq!(
        campaign.retention,
        Some(Retention {
            phones_days: None,
            photos_days: Some(90)
        })
    );
    let long = format!(
        "consent: {{ version: \"1\", en: {}, sw: b }}",
        "x".repeat(2_001)
    );
    assert_eq!(
        problem_of(&long),
        "f.yaml:6: consent.en must be 1 to 2000 characters"
    );
    let empty = read("f.yaml", &format!("{MINIMAL}retention: {{}}\n"))
        .expect("it is good")
        .campaign;
    assert_eq!(empty.retention, None, "nothing is said");
}

#[test]
fn what_is_left_out_is_the_usual() {
    let file = read("f.yaml", MINIMAL).expect("it is good");
    assert!(!file.says_paused);
    let campaign = file.campaign;
    assert_eq!(
        (campaign.paused, campaign.entries_per_submission),
        (false, 1)
    );
    assert_eq!(campaign.limits, PhoneLimits::default());
    assert_eq!(
        campaign.wrong_codes,
        WrongCodeLimit {
            count: 10,
            minutes: 60
        }
    );
    let nulls = "window: null\nlimits: ~\nmessages:\nreceipt: null\nwrong_codes: { count: 5, minutes: null }\n";
    let file = read("f.yaml", &format!("{MINIMAL}{nulls}")).expect("null is as good as left out");
    assert_eq!(
        file.campaign.wrong_codes,
        WrongCodeLimit {
            count: 5,
            minutes: 60
        }
    );
}

#[test]
fn a_mistake_is_named_by_its_line_and_field() {
    for (lines, expected) in [
        (
            "limits: { phone_daily: 0 }",
            "f.yaml:6: limits.phone_daily must be a whole number of at least 1",
        ),
        (
            "\n\nlimits:\n  phone_daily: 2.5",
            "f.yaml:9: limits.phone_daily must be a whole number of at least 1",
        ),
        (
            "limits: { phone_total: 1e9 }",
            "f.yaml:6: limits.phone_total must be a whole number of at least 1",
        ),
        (
            "limits: { phone_total: \"3\" }",
            "f.yaml:6: limits.phone_total must be a whole number of at least 1",
        ),
        (
            "limits: { phone_total: 99999999999999999999999999 }",
            "f.yaml:6: limits.phone_total must be a whole number of at most 1000000",
        ),
        (
            "limits: 3",
            "f.yaml:6: limits must hold the fields `phone_daily`, `phone_total`",
        ),
        (
            "limits: [1, 2]",
            "f.yaml:6: limits must hold the fields `phone_daily`, `phone_total`, not a list of 2",
        ),
        (
            "entries_per_submission: none",
            "f.yaml:6: entries_per_submission must be a whole number of at least 1",
        ),
        (
            "wrong_codes: { minutes: 1441 }",
            "f.yaml:6: wrong_codes.minutes must be a whole number of at most 1440",
        ),
        ("paused: yes", "f.yaml:6: paused must be true or false"),
        (
            "window:\n  start: 2026-01-01\n",
            "f.yaml:7: window.start must be a date and time with its offset, such as `2026-01-01T00:00:00+03:00`, \
             or null",
        ),
        (
            "window:\n  start: 2026-01-01T00:00:00Z\n  end: 2026-01-01T03:00:00+03:00",
            "f.yaml:8: window.end must be later than window.start",
        ),
        (
            "messages: { en: { entered: '' } }",
            "f.yaml:6: messages.en.entered must be 1 to 320 characters",
        ),
        (
            "messages: { sw: { entered: true } }",
            "f.yaml:6: messages.sw.entered must be text; put it in quotes when it looks like something else",
        ),
        (
            "messages:\n  en:\n    entred: x",
            "f.yaml:8: messages.en.entred is not a field of a campaign file; did you mean `entered`?",
        ),
        (
            "messages: { en: { entered: \"a\\u0007\" } }",
            "f.yaml:6: messages.en.entered must not hold control characters; remove them",
        ),
        (
            "slug: other",
            "f.yaml:6: slug is there twice; keep one of them",
        ),
        (
            "consent: { version: '', en: a, sw: b }",
            "f.yaml:6: consent.version must be 1 to 40 characters",
        ),
        (
            "consent: { version: \"1\", en: a }",
            "f.yaml:6: consent.sw is missing; add it, such as `sw: \"Nakubali ...\"`",
        ),
        (
            "retention: { phones_days: 3651 }",
            "f.yaml:6: retention.phones_days must be a whole number of at most 3650",
        ),
        (
            "retention: { photos_days: 0 }",
            "f.yaml:6: retention.photos_days must be a whole number of at least 1",
        ),
        (
            "entries_per_submision: 2",
            "f.yaml:6: entries_per_submision is not a field of a campaign file; did you mean `entries_per_submission`?",
        ),
        (
            "window: { from: 1 }",
            "f.yaml:6: window.from is not a field of a campaign file; here go `start`, `end`",
        ),
    ] {
        assert_eq!(problem_of(lines), expected);
    }
}

#[test]
fn a_window_is_written_as_in_rfc_3339() {
    for start in [
        "2026-01-01T00:00:00+03:00",
        "2025-12-31T21:00:00Z",
        "2025-12-31 21:00:00.000z",
    ] {
        let file = read(
            "f.yaml",
            &format!("{MINIMAL}window: {{ start: '{start}' }}"),
        )
        .expect(start);
        assert_eq!(
            file.campaign.window.start,
            Some(Timestamp::from_millis(1_767_214_800_000)),
            "{start}"
        );
    }
    for start in [
        "2026-01-01T00:00:00",
        "2026-01-01T00:00+03:00",
        "2026-01-01T00:00:00+0300",
        "2026-01-01T00:00:00+03:00[Africa/Dar_es_Salaam]",
        "2026-02-29T00:00:00Z",
        "10000-01-01T00:00:00Z",
    ] {
        let expected = "f.yaml:6: window.start must be a date and time with its offset, such as \
                        `2026-01-01T00:00:00+03:00`, or null";
        assert_eq!(
            problem_of(&format!("window: {{ start: '{start}' }}")),
            expected,
            "{start}"
        );
    }
}

#[test]
fn a_zone_is_named_as_in_the_iana_database() {
    for name in [
        "Mars/Olympus",
        "+03:00",
        "EAT",
        "UTC+3",
        "africa/dar_es_salaam",
    ] {
        let expected =
            "f.yaml:4: timezone must be an IANA time zone, such as `Africa/Dar_es_Salaam`";
        let text = MINIMAL.replace("UTC", &format!("'{name}'"));
        assert_eq!(problems(&text), [expected], "{name}");
    }
}

#[test]
fn what_has_to_be_there_is_missed_and_what_is_there_is_checked() {
    let text = "slug: A\nname: 7\nbrand: ''\ntimezone: Mars/Olympus\ncode: { checked_by: us }\n";
    assert_eq!(
        problems(text),
        [
            "f.yaml:1: slug must be 1 to 64 of a-z, 0-9 and inner dashes, such as `chai-bora-2026`",
            "f.yaml:2: name must be text; put it in quotes when it looks like something else",
            "f.yaml:3: brand must be 1 to 120 characters",
            "f.yaml:4: timezone must be an IANA time zone, such as `Africa/Dar_es_Salaam`",
            "f.yaml:5: code.checked_by must be `service`, `partner` or `none`",
        ]
    );
    assert_eq!(
        problems("paused: true\nname: null"),
        [
            "f.yaml:1: slug is missing; add it, such as `slug: chai-bora-2026`",
            "f.yaml:1: brand is missing; add it, such as `brand: Chai Bora`",
            "f.yaml:1: timezone is missing; add it, such as `timezone: Africa/Dar_es_Salaam`",
            "f.yaml:1: code is missing; add it, such as `code: { checked_by: service }`",
            "f.yaml:2: name is missing; add it, such as `name: Chai Bora Shinda`",
        ]
    );
}

#[test]
fn what_is_no_campaign_file_at_all_is_said_so() {
    for (text, expected) in [
        (
            "",
            "f.yaml:1: the file is empty; write at least slug, name, brand, timezone and code",
        ),
        (
            "# nothing\n",
            "f.yaml:1: the file is empty; write at least slug, name, brand, timezone and code",
        ),
        (
            "- a\n",
            "f.yaml:1: the file must hold fields such as `slug: chai-bora-2026`, one a line",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "f.yaml:2: this begins a second document; write one campaign in each file",
        ),
        (
            "a: &x 1\nb: *x\n",
            "f.yaml:2: this uses an alias (`*name`); write the value out",
        ),
        (
            "a: !!str 1\n",
            "f.yaml:1: this uses a tag (`!name`); leave it out",
        ),
        (
            "[a]: 1\n",
            "f.yaml:1: this has a list or block as a field's name; put a placeholder in quotes, such as \
             `\"{{code}}\"`",
        ),
    ] {
        assert_eq!(problems(text), [expected], "{text:?}");
    }
    let found = problems("slug: a\nname: \"b\nbrand: c\n").concat();
    assert!(
        found.starts_with("f.yaml:") && found.contains("this is not YAML that can be read"),
        "{found}"
    );
    assert_eq!(problems(&"#".repeat(MAX_BYTES + 1)).len(), 1);
    let deep = format!("a: {}", "[".repeat(1000));
    assert_eq!(problems(&deep).len(), 1);
    let bomb = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n";
    assert_eq!(
        problems(bomb),
        ["f.yaml:2: this uses an alias (`*name`); write the value out"]
    );
}

#[test]
fn bytes_that_are_not_text_are_named_by_their_line() {
    let found = read_bytes("f.yaml", b"slug: a\nname: \xff\n").expect_err("it is not UTF-8");
    assert_eq!(found.first().map(|problem| problem.line), Some(2));
    let marked = [b"\xef\xbb\xbf", MINIMAL.as_bytes()].concat();
    assert!(
        read_bytes("f.yaml", &marked).is_ok(),
        "a byte order mark is no mistake"
    );
}

#[test]
fn a_problem_is_one_line_whatever_the_file_holds() {
    let found = problem_of("\"a\\n\\e[31m\": 1\n");
    assert!(
        found.starts_with("f.yaml:6: a\\n\\u{1b}[31m is not a field"),
        "{found}"
    );
}

#[test]
fn text_that_looks_like_something_else_needs_quotes() {
    for (value, is_text) in [
        ("Chai", true),
        ("03TZ", true),
        ("1.2.3", true),
        ("'7'", true),
        ("inf", true),
        ("7", false),
        ("-1.5e3", false),
        ("0x1F", false),
        (".nan", false),
        ("true", false),
    ] {
        let text = MINIMAL.replace("name: Demo", &format!("name: {value}"));
        assert_eq!(read("f.yaml", &text).is_ok(), is_text, "{value}");
    }
}

proptest! {
    #[test]
    fn arbitrary_text_is_read_or_refused_with_its_lines(text in "\\PC{0,200}") {
        if let Err(problems) = read("f.yaml", &text) {
            let lines = text.lines().count().max(1);
            prop_assert!(problems.iter().all(|problem| (1..=lines + 1).contains(&problem.line)));
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_bytes("f.yaml", &bytes);
    }

    #[test]
    fn a_file_with_something_replaced_is_read_or_refused(
        at in 0..GOOD.len(), length in 0usize..30, with in "[-:{}\\[\\]&*!|>'\"%@`#,?~a0 \n\t]{0,12}"
    ) {
        let mut text = GOOD.to_owned();
        let end = (at + length).min(text.len());
        text.replace_range(at..end, &with);
        if let Err(problems) = read("f.yaml", &text) {
            prop_assert!(!problems.is_empty());
        }
    }
}
