//! The certificate as text; a browser runs it in `.ci/run certificate`.

use crate::sample::Sample;

#[test]
fn names_and_reasons_cannot_become_markup() {
    let page = Sample::new().certificate(true);
    assert!(!page.contains("<b>muda") && page.contains(r"\u003cb>muda wa maongezi"));
    assert!(
        !page.contains("<b>shinda")
            && page.contains("<h1>Chai Bora: &lt;b&gt;shinda&lt;/b&gt; kila wiki</h1>")
    );
}

#[test]
fn certificate_asks_for_nothing_and_runs_one_script() {
    let page = Sample::new().certificate(true);
    assert!(
        page.contains(
            "default-src 'none'; base-uri 'none'; form-action 'none'; script-src 'sha256-"
        )
    );
    for outside in ["src=", "href=", "@import", "url(", "fetch(", "{{"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn sheet_has_the_commitment_in_groups_and_names_are_no_markup() {
    let sample = Sample::new();
    let page = sample.sheet();
    assert!(page.contains(&sample.read().expect("whole").commitment().in_groups()));
    assert!(
        page.contains("5 x &lt;b&gt;muda wa maongezi&lt;/b&gt;")
            && page.contains("15 September 2023, 14:00:03 (+03:00)")
    );
    for said in [
        "Kampuni ya Chai Bora",
        "Licence number",
        "Place of the draw",
        "/public/657413 before I signed, and the round was not there yet",
        "<dd>15, 12, 12</dd>",
        "<dt>Entries given by hand</dt><dd>7</dd>",
    ] {
        assert!(page.contains(said), "{said}");
    }
    for outside in ["<script", "src=", "href=", "url(", "{{", "<b>muda"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn certificate_has_the_exact_list_or_none() {
    let sample = Sample::new();
    let list = |page: &str| {
        let (_, rest) = page
            .split_once(r#"<script type="text/plain" id="entries">"#)
            .expect("the list");
        rest.split_once("</script>").expect("its end").0.to_owned()
    };
    assert_eq!(list(&sample.certificate(true)), sample.entries);
    assert_eq!(list(&sample.certificate(false)), "");
}
