//! The page reader on made-up pages, and any input.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use chrono::NaiveDate;
use common::domain::receipt::record::MAX_ITEMS;
use common::domain::{FiscalItem, FiscalRecord, Quantity, ReceiptTime, VerificationCode, VoidMark};
use common::upstream::tax_authority::answer::{LookupAnswer, PortalError, UnexpectedPage};
use common::upstream::tax_authority::page;
use proptest::prelude::*;

const VERIFIED: &str = "/Verify/Verified";

/// Values in a span, nested in the label, as a text node.
const PAGE: &str = r#"<!doctype html><html><head><title>CANCELLED</title>
<style>.cancelled-watermark{color:red} .test-watermark:before{content:'TEST ENVIRONMENT'}</style></head><body>
<script>document.write("<div class='test-watermark'>Page is loading</div>"); let open = "<b class='";</script>
<!-- <div class="cancelled-watermark">CANCELLED</div> -->
<section id="inv">
<div class="x invoice-header"><p><b>START</b></p><h4> <b>MAMA  NTILIE &amp;&nbsp;CO</b></h4><h4><b>BOX 1</b></h4></div>
<p><b>TIN:</b><span>123-456-789</span> <b>VRN:</b><span>40-000001-A</span></p>
<div><b>SERIAL NO: <span>02tz000042</span></b></div>
<div><b>UIN:</b> 09VFD-12345678902TZ000042 </div>
<div><b>TAX OFFICE: <b>Temeke</b></b><br><b>Customer Name:</b> <span>ASHA JUMA</span></div>
<div><b>RECEIPT NO:</b> <span> 77 </span></div><b>Z NUMBER:</b> <span>NIL</span>
<div><b>RECEIPT DATE:</b> <span>31/12/2025</span> <b>RECEIPT TIME:</b> <span>23:59:01</span></div>
<table><tr><td>Type</td><td>Amount</td><td>Qty</td><td>Description</td></tr>
<tr><td>A</td><td>1,500.00</td><td>1.5</td><td>MAFUTA <i>YA</i> ALIZETI</td></tr>
<tr><td>A</td><td>200</td><td>n/a</td><td>CHUMVI</td></tr>
<tr><td></td><td></td><td></td><td></td></tr></table>
<table><tr><th>TOTAL EXCL OF TAX:</th><td></td><td>1,440.68</td></tr>
<tr><th>Total tax</th><td>259.32</td></tr><tr><th>TOTAL INCL OF TAX</th><th>1,700.00</th></tr></table>
<h4>RECEIPT VERIFICATION CODE</h4><p>scan it</p><h3><b>0a1b2c77</b></h3>
</section></body></html>"#;

fn code(text: &str) -> VerificationCode {
    text.parse().expect("a code")
}

fn read(html: &str) -> LookupAnswer {
    page::read(VERIFIED, 200, html.as_bytes(), &code("0A1B2C77"))
}

fn found(html: &str) -> FiscalRecord {
    match read(html) {
        LookupAnswer::Found(record) => *record,
        other => panic!("{other:?}"),
    }
}

fn unexpected(html: &str) -> UnexpectedPage {
    match read(html) {
        LookupAnswer::Unexpected(page) => *page,
        other => panic!("{other:?}"),
    }
}

/// The page with one part replaced.
fn with(part: &str, other: &str) -> String {
    assert!(PAGE.contains(part), "{part}");
    PAGE.replace(part, other)
}

#[test]
fn every_shape_of_a_value_is_read() {
    let item = |description: &str, quantity: Option<i64>, amount_cents| FiscalItem {
        description: description.to_owned(),
        quantity: quantity.map(Quantity::from_thousandths),
        amount_cents,
    };
    let expected = FiscalRecord {
        code: code("0A1B2C77"),
        trader: Some("MAMA NTILIE & CO".to_owned()),
        tin: "123-456-789".to_owned(),
        vrn: Some("40-000001-A".to_owned()),
        serial: "02tz000042".to_owned(),
        uin: Some("09VFD-12345678902TZ000042".to_owned()),
        tax_office: Some("Temeke".to_owned()),
        receipt_number: "77".to_owned(),
        z_number: None,
        date: NaiveDate::from_ymd_opt(2025, 12, 31).expect("a day"),
        time: ReceiptTime::new(23, 59, 1),
        items: vec![
            item("MAFUTA YA ALIZETI", Some(1_500), 150_000),
            item("CHUMVI", None, 20_000),
        ],
        total_excl_cents: Some(144_068),
        total_tax_cents: Some(25_932),
        total_incl_cents: Some(170_000),
        void: None,
    };
    assert!(found(PAGE) == expected);
    assert!(found(&with("31/12/2025", "2025-12-31")) == expected);
}

#[test]
fn totals_may_stand_below_the_items() {
    let one_table = PAGE.replace("</table>\n<table>", "\n");
    assert!(found(&one_table) == found(PAGE));
}

#[test]
fn only_an_element_with_the_class_makes_a_receipt_void() {
    let marked = |class: &str| {
        found(&with(
            "<p>scan it</p>",
            &format!("<div class='{class}'></div>"),
        ))
        .void
    };
    assert_eq!(marked("big cancelled-watermark"), Some(VoidMark::Cancelled));
    assert_eq!(marked("test-watermark"), Some(VoidMark::Test));
    assert_eq!(
        marked("cancelled-watermark test-watermark"),
        Some(VoidMark::Cancelled)
    );
    assert_eq!(marked("not-cancelled-watermark"), None);
}

#[test]
fn blank_values_pass_the_checks_that_need_them() {
    let record = found(&with("09VFD-12345678902TZ000042", "N/A"));
    assert_eq!(record.uin, None);
    let record = found(&with("259.32", "-"));
    assert_eq!(
        (record.total_tax_cents, record.total_incl_cents),
        (None, Some(170_000))
    );
    assert_eq!(found(&with("23:59:01", "")).time, None);
    assert_eq!(found(&with("MAMA  NTILIE &amp;&nbsp;CO", "-")).trader, None);
}

#[test]
fn what_does_not_hold_is_shown_to_somebody() {
    for (part, other, why) in [
        ("<b>TIN:</b>", "<b>TAXPAYER:</b>", "no TIN"),
        ("123-456-789", "n/a", "no TIN"),
        ("02tz000042", "", "no SERIAL NO"),
        ("<span> 77 </span>", "", "no RECEIPT NO"),
        (
            "<span> 77 </span>",
            "78",
            "the code does not end with RECEIPT NO",
        ),
        ("31/12/2025", "nil", "no RECEIPT DATE"),
        ("31/12/2025", "31/02/2025", "RECEIPT DATE is not a day"),
        ("31/12/2025", "31.12.2025", "RECEIPT DATE in another format"),
        ("31/12/2025", "1/2/2025", "RECEIPT DATE in another format"),
        ("23:59:01", "24:00:00", "RECEIPT TIME is no time"),
        (
            "12345678902TZ",
            "12345678903TZ",
            "UIN does not end with TIN and SERIAL NO",
        ),
        ("259.32", "259.33", "the totals do not add up"),
        ("259.32", "about 259", "a total that is not an amount"),
        ("<td>Qty</td>", "<td>Quantity</td>", "no table of items"),
        (
            "<td>1,500.00</td>",
            "<td>free</td>",
            "an Amount that is not an amount",
        ),
        (
            "<td>1.5</td>",
            "<td>some</td>",
            "a Qty that is not a number",
        ),
        (
            "<td>CHUMVI</td>",
            "",
            "an item with fewer cells than headings",
        ),
        (
            "<h3><b>0a1b2c77</b></h3>",
            "",
            "no code after RECEIPT VERIFICATION CODE",
        ),
        (
            "<h3><b>0a1b2c77</b></h3>",
            "<h3>see above</h3>",
            "no code after RECEIPT VERIFICATION CODE",
        ),
        (
            "<b>Z NUMBER:</b>",
            "<b>TIN:</b> 5",
            "a label with two values",
        ),
    ] {
        assert_eq!(unexpected(&with(part, other)).why, why, "{part} as {other}");
    }
    let row = "<tr><td>A</td><td>200</td><td>n/a</td><td>CHUMVI</td></tr>\n";
    assert_eq!(
        unexpected(&with(row, &row.repeat(MAX_ITEMS))).why,
        "more items than a receipt has"
    );
    let table_end = PAGE.split_once("</table>").expect("a table").0.len();
    let rows_start = PAGE.find("<tr><td>A</td><td>1,5").expect("a row");
    let no_items = format!("{}{}", &PAGE[..rows_start], &PAGE[table_end..]);
    assert_eq!(unexpected(&no_items).why, "no items");
}

#[test]
fn an_operator_sees_the_page_without_the_customer() {
    let page = unexpected(&with("<b>TIN:</b>", "<b>TAXPAYER:</b>"));
    assert!(
        page.excerpt.contains("SERIAL NO: 02tz000042"),
        "{}",
        page.excerpt
    );
    assert!(
        page.excerpt.contains("CUSTOMER ***\nRECEIPT NO: 77"),
        "{}",
        page.excerpt
    );
    for hidden in ["ASHA", "CANCELLED", "Page is loading", "watermark"] {
        assert!(!page.excerpt.contains(hidden), "{}", page.excerpt);
    }
    let long = unexpected(&"x ".repeat(10_000));
    assert_eq!(long.excerpt.len(), UnexpectedPage::MAX_EXCERPT_CHARS);
}

#[test]
fn long_texts_are_cut() {
    assert_eq!(
        found(&with("Temeke", &"ü".repeat(5_000))).tax_office,
        Some("ü".repeat(200))
    );
}

#[test]
fn the_page_of_another_receipt_is_trouble() {
    let other = page::read(VERIFIED, 200, PAGE.as_bytes(), &code("0A1B2C78"));
    assert_eq!(other, LookupAnswer::Unavailable(PortalError::OtherReceipt));
    let prompt = b"<p>Please provide your receipt time</p>";
    let other = page::read("/0A1B2C78_101530", 200, prompt, &code("0A1B2C77"));
    assert_eq!(other, LookupAnswer::Unavailable(PortalError::OtherReceipt));
}

#[test]
fn the_final_path_decides() {
    let prompt = "<p>PLEASE provide\n your Receipt Time</p>";
    let unknown = || LookupAnswer::Unavailable(PortalError::UnknownPage);
    for (path, status, body, expected) in [
        (VERIFIED, 200, prompt, LookupAnswer::WrongTime),
        ("/verify/verified/", 200, prompt, LookupAnswer::WrongTime),
        ("/0A1B2C77_101530", 200, prompt, LookupAnswer::WrongTime),
        ("/0a1b2c77_101530/", 200, prompt, LookupAnswer::WrongTime),
        ("/0A1B2C77_101530", 200, "", unknown()),
        ("/Home/Missing", 200, "", LookupAnswer::NotFoundYet),
        ("/Home/Missing", 404, "", LookupAnswer::NotFoundYet),
        ("/Home/Warning", 200, "", LookupAnswer::Throttled),
        ("/Home/Index", 200, PAGE, LookupAnswer::RefererRefused),
        ("/", 200, "", LookupAnswer::RefererRefused),
        ("/Home/Error", 200, "", unknown()),
        ("/Home/Error", 200, prompt, unknown()),
        (
            "/Home/Missing",
            503,
            "",
            LookupAnswer::Unavailable(PortalError::Status(503)),
        ),
        (
            VERIFIED,
            500,
            PAGE,
            LookupAnswer::Unavailable(PortalError::Status(500)),
        ),
        (
            VERIFIED,
            403,
            "",
            LookupAnswer::Unavailable(PortalError::Status(403)),
        ),
    ] {
        let answer = page::read(path, status, body.as_bytes(), &code("0A1B2C77"));
        assert_eq!(answer, expected, "{path} {status}");
    }
}

#[test]
fn a_found_page_elsewhere_is_shown_to_somebody() {
    for (path, shown) in [
        ("/0A1B2C77_101530", "/***"),
        ("/Home/Receipt", "/Home/Receipt"),
    ] {
        match page::read(path, 200, PAGE.as_bytes(), &code("0A1B2C77")) {
            LookupAnswer::Unexpected(page) => assert_eq!(page.final_path, shown),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_page_of_the_largest_size_is_read_in_time() {
    for part in [
        "<b>",
        "<div class='invoice-header'>",
        "</p><td>",
        "<table>x",
        "<h4>RECEIPT VERIFICATION CODE</h4>",
        "a:<b>",
        "&",
    ] {
        let body = part.repeat(1024 * 1024 / part.len());
        let _ = page::read(
            VERIFIED,
            200,
            format!("{body}{PAGE}").as_bytes(),
            &code("0A1B2C77"),
        );
    }
}

/// Parts that mean something to the reader.
fn markup_fragments() -> impl Strategy<Value = String> {
    let parts = [
        "<b>",
        "</b>",
        "<b>TIN:",
        "<span>",
        "</span>",
        "1",
        ":",
        "RECEIPT VERIFICATION CODE",
        "<h4>",
        "</h4>",
        "0A1B2C77",
        "0A1B2C78",
        "<table>",
        "</table>",
        "<tr>",
        "<td>",
        "<th>",
        "Description",
        "Qty",
        "Amount",
        "<script>",
        "</script>",
        "<style>",
        "<!--",
        "-->",
        "<div class=invoice-header>",
        "</div>",
        "<a x=",
        "\"",
        ">",
        "</a y y=1>",
        "<a x x=1 ",
        "&amp",
        "&#x110000;",
        "\0",
        "Customer",
        "é",
        "TOTAL TAX",
        "1,000.00",
        "<![CDATA[",
        "<!doctype",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..60)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_bytes_at_any_path_are_an_answer(
        path in ".{0,40}", status in 0u16..1000, body in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let _ = page::read(&path, status, &body, &code("0A1B2C77"));
    }

    #[test]
    fn any_markup_is_an_answer(markup_fragments in markup_fragments()) {
        prop_assert!(!matches!(read(&markup_fragments), LookupAnswer::Found(_)));
    }

    #[test]
    fn a_page_that_was_changed_is_never_another_receipts(
        cuts in prop::collection::vec((0usize..PAGE.len(), 0usize..30, markup_fragments()), 1..4), last in 0u8..10,
    ) {
        let mut body = PAGE.as_bytes().to_vec();
        for (at, length, other) in cuts {
            let at = at.min(body.len());
            let end = (at + length).min(body.len());
            body.splice(at..end, other.into_bytes());
        }
        let asked = code(&format!("0A1B2C7{last}"));
        if let LookupAnswer::Found(record) = page::read(VERIFIED, 200, &body, &asked) {
            prop_assert_eq!(record.code, asked);
        }
    }
}
