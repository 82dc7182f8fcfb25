//! The certificate as a text. What it computes is tried in a browser: `.ci/run certificate`.

use draw::CertificateFile;
use serde_json::Value;

use crate::sample::Sample;

#[test]
fn names_and_reasons_cannot_become_markup() {
    let page = Sample::new().certificate(true);
    assert!(!page.contains("<b>muda") && page.contains(r"\u003cb>muda wa maongezi"));
}

#[test]
fn a_certificate_asks_for_nothing_and_runs_one_script() {
    let page = Sample::new().certificate(true);
    assert!(page.contains("default-src 'none'; base-uri 'none'; form-action 'none'; script-src 'sha256-"));
    for outside in ["src=", "href=", "@import", "url(", "fetch(", "{{"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_sheet_has_the_commitment_in_groups_and_names_are_no_markup() {
    let sample = Sample::new();
    let page = sample.sheet();
    assert!(page.contains(&sample.read().expect("whole").commitment().in_groups()));
    assert!(
        page.contains("5 x &lt;b&gt;muda wa maongezi&lt;/b&gt;")
            && page.contains("2023-09-15 14:00:03 +03:00")
    );
    for outside in ["<script", "src=", "href=", "url(", "{{", "<b>muda"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_certificate_has_the_exact_list_or_none() {
    let sample = Sample::new();
    let list = |page: &str| {
        let (_, rest) = page.split_once(r#"<script type="text/plain" id="entries">"#).expect("the list");
        rest.split_once("</script>").expect("its end").0.to_owned()
    };
    assert_eq!(list(&sample.certificate(true)), sample.entries);
    assert_eq!(list(&sample.certificate(false)), "");
}

/// The first difference of a page. If it does not hold the list of entries, they are these.
fn difference(page: &str, entries: &str) -> Option<String> {
    let checked = CertificateFile::parse(page.to_owned()).and_then(|file| {
        let mut entries = file.entries().unwrap_or(entries).as_bytes();
        file.check(&mut entries)
    });
    checked.err().map(|difference| difference.to_string())
}

#[test]
fn a_certificate_that_nobody_changed_is_read_back() {
    let sample = Sample::new();
    assert_eq!(difference(&sample.certificate(true), ""), None);
    assert_eq!(difference(&sample.certificate(false), &sample.entries), None);
    let other = sample.entries.replacen(",0,", ",1,", 1);
    let named = difference(&sample.certificate(false), &other).expect("another file");
    assert!(named.starts_with("entries.csv, line 1 starts at 1"), "{named}");
}

#[test]
fn a_change_in_a_certificate_is_named() {
    let page = Sample::new().certificate(true);
    for (from, to, expected) in [
        (r#""root":""#, r#""root":"ff"#, "cannot be read"),
        (
            "2023-09-15T13:30:02",
            "2023-09-15T14:00:03",
            "but the round was at 2023-09-15T14:00:03+03:00 already",
        ),
        (r#""round":657413,"sig"#, r#""round":657414,"sig"#, "result.json is of round 657414"),
        ("This draw holds:", "This draw holds!", "is not what this release writes"),
        ("<main>", "<main><p>Row 5 wins the car.</p>", "line 72 of the page"),
        (r#"id="draw">"#, r#"id="data">"#, "has no data of a draw"),
    ] {
        assert!(page.contains(from), "{from}");
        let named = difference(&page.replacen(from, to, 1), "");
        assert!(named.as_ref().is_some_and(|named| named.contains(expected)), "{to}: {named:?}");
    }
}

#[test]
fn a_log_that_does_not_follow_the_order_is_named() {
    type Change = fn(&mut Value);
    let page = Sample::new().certificate(true);
    let (before, rest) = page.split_once(r#"id="draw">"#).expect("the data");
    let (data, after) = rest.split_once("</script>").expect("their end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    let cases: [(Change, &str); 7] = [
        (|contacts| contacts[0]["tier"] = "car".into(), "has a prize car"),
        (|contacts| contacts[0]["place"] = 2.into(), "leaves out place 1 of grand-prize"),
        (|contacts| contacts[0]["row"] = 59.into(), "line 60 has another hash than the opening of row 59"),
        (
            |contacts| {
                contacts[0]["row"] = 59.into();
                contacts[0]["opening"] = Value::Null;
            },
            "has row 59 as place 1 of grand-prize, but the order has row",
        ),
        (|contacts| contacts[0]["reference"] = "ZZZZ-ZZZZ".into(), "says ZZZZ-ZZZZ for place 1"),
        (
            |contacts| {
                contacts[0]["reference"] = "ZZZZ-ZZZZ".into();
                contacts[0]["opening"] = Value::Null;
            },
            "says ZZZZ-ZZZZ for place 1",
        ),
        (|contacts| contacts[0]["is_skipped"] = false.into(), "has 2 winners of grand-prize"),
    ];
    for (change, expected) in cases {
        let mut changed = data.clone();
        change(&mut changed["contacts"]);
        let named = difference(&format!(r#"{before}id="draw">{changed}</script>{after}"#), "");
        assert!(named.as_ref().is_some_and(|named| named.contains(expected)), "{expected}: {named:?}");
    }
}
