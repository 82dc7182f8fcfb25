//! The certificate as a text. What it computes is tried in a browser: `.ci/run certificate`.

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
fn a_certificate_has_the_exact_list_or_none() {
    let sample = Sample::new();
    let list = |page: &str| {
        let (_, rest) = page.split_once(r#"<script type="text/plain" id="entries">"#).expect("the list");
        rest.split_once("</script>").expect("its end").0.to_owned()
    };
    assert_eq!(list(&sample.certificate(true)), sample.entries);
    assert_eq!(list(&sample.certificate(false)), "");
}
