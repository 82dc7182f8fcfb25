//! As on the real pages, style and script contain the words of all watermarks.

use draw::escaped;
use ops_core::format::grouped;

use super::cases::TIME;
use super::receipt::{Line, Receipt};

/// Invented; tests show that it is not passed on.
const CUSTOMER: &str = "MTEJA WA MFANO";

fn page(body: &str) -> String {
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Receipts</title>
<style>
.cancelled-watermark::after {{ content: "CANCELLED"; }}
.test-watermark::after {{ content: "TEST ENVIRONMENT"; }}
</style>
<script>window.note = "Page is loading"; if (1 < 2) {{ window.mark = '<div class="cancelled-watermark">'; }}</script>
</head>
<body>
{body}
</body>
</html>
"#
    )
}

pub(super) fn receipt(receipt: &Receipt) -> String {
    let Receipt {
        trader,
        tin,
        serial,
        code,
        ..
    } = receipt;
    let (trader, number, date) = (
        escaped(trader),
        receipt.number(),
        receipt.date.format("%d/%m/%Y"),
    );
    let watermark = receipt
        .watermark
        .map(|class| format!(r#"<div class="mark {class}"></div>"#))
        .unwrap_or_default();
    let field = |label: &str, value: &str| format!("<p><b>{label}:</b> <span>{value}</span></p>\n");
    let fields = [
        field("TIN", tin),
        field("VRN", "n/a"),
        format!("<p><b>SERIAL NO: <span>{serial}</span></b></p>\n"),
        field("UIN", &format!("00{tin}{serial}")),
        field("TAX OFFICE", "Ilala"),
        field("CUSTOMER NAME", CUSTOMER),
        field("CUSTOMER ID TYPE", "NIL"),
        field("CUSTOMER MOBILE", "0700000000"),
        field("RECEIPT NO", number),
        field("Z NUMBER", "412"),
        format!("<p><b>RECEIPT DATE:</b><span>{date}</span> <b>RECEIPT TIME:</b><span>{TIME}</span></p>\n"),
    ]
    .concat();
    let lines = lines(receipt);
    let totals = totals(receipt);
    page(&format!(
        r#"<section id="inv">
{watermark}
<div class="invoice-header"><h4><b>{trader}</b></h4></div>
<div class="invoice-info">
{fields}</div>
<h4>PURCHASED ITEMS</h4>
<table class="lines"><thead><tr><th>Description</th><th>Qty</th><th>Amount</th><th>Type</th></tr></thead>
<tbody>
{lines}</tbody></table>
<table class="totals">
{totals}</table>
<h5>RECEIPT VERIFICATION CODE</h5>
<h4>{code}</h4>
</section>"#
    ))
}

pub(super) fn older_receipt(receipt: &Receipt) -> String {
    let Receipt {
        trader,
        tin,
        serial,
        code,
        date,
        ..
    } = receipt;
    let (trader, number) = (escaped(trader), receipt.number());
    let lines = lines(receipt);
    let totals = totals(receipt);
    page(&format!(
        r#"<section id="inv">
<div class="invoice-header"><h4><b>{trader}</b></h4></div>
<div><b>TIN:</b> {tin}<br><b>VRN:</b> NIL<br><b>SERIAL NO:</b> {serial}<br><b>UIN:</b> 00{tin}{serial}<br>
<b>TAX OFFICE:</b> -<br><b>CUSTOMER NAME:</b> {CUSTOMER}<br><b>RECEIPT NO:</b> {number}<br>
<b>Z NUMBER:</b> 412<br><b>RECEIPT DATE:</b> {date}<br><b>RECEIPT TIME:</b> {TIME}</div>
<table><tr><th>Description</th><th>Qty</th><th>Amount</th></tr>
{lines}{totals}</table>
<h3>RECEIPT VERIFICATION CODE</h3>
<h3>{code}</h3>
</section>"#
    ))
}

pub(super) fn other_layout(receipt: &Receipt) -> String {
    let Receipt {
        trader,
        tin,
        serial,
        code,
        date,
        ..
    } = receipt;
    let trader = escaped(trader);
    page(&format!(
        r#"<main><h1>{trader}</h1>
<dl><dt>Taxpayer</dt><dd>{tin}</dd><dt>Device</dt><dd>{serial}</dd><dt>Day</dt><dd>{date}</dd>
<dt>Customer</dt><dd>{CUSTOMER}</dd><dd>0700000000</dd></dl>
<h2>RECEIPT VERIFICATION CODE</h2><h2>{code}</h2></main>"#
    ))
}

pub(super) fn time_prompt() -> String {
    page(
        "<form><label>Please provide your receipt time <input name=\"Secret\"></label><button>OK</button></form>",
    )
}

pub(super) fn notice(text: &str) -> String {
    page(&format!("<h3>{text}</h3>"))
}

fn lines(receipt: &Receipt) -> String {
    let row = |line: &Line| {
        let (description, amount) = (escaped(line.description), amount(line.amount_cents));
        format!(
            "<tr><td>{description}</td><td>{}</td><td>{amount}</td><td>A</td></tr>\n",
            line.quantity
        )
    };
    receipt.lines.iter().map(row).collect()
}

fn totals(receipt: &Receipt) -> String {
    let (without, tax, with) = receipt.totals();
    let row = |label: &str, cents| {
        format!(
            "<tr><th colspan=\"2\">{label}:</th><td>{}</td></tr>\n",
            amount(cents)
        )
    };
    [
        row("TOTAL EXCL OF TAX", without),
        row("TOTAL TAX", tax),
        row("TOTAL INCL OF TAX", with),
    ]
    .concat()
}

fn amount(cents: i64) -> String {
    format!("{}.{:02}", grouped(cents / 100), cents % 100)
}
