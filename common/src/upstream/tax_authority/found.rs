//! Parses a found page. Pages that differ from all so far go to an operator.

use chrono::NaiveDate;

use super::markup::{HtmlTable, PageContent, collapsed};
use crate::domain::receipt::record::{MAX_ITEMS, MAX_TEXT_CHARS, bare_identifier, parse_cents};
use crate::domain::{FiscalItem, FiscalRecord, Quantity, ReceiptTime, VerificationCode, VoidMark};

/// Precedes the code on every found page, and only there.
pub const FOUND_MARKER: &str = "RECEIPT VERIFICATION CODE";

const NO_CODE: Mismatch = "no code after RECEIPT VERIFICATION CODE";

/// Difference from all found pages so far.
pub type Mismatch = &'static str;

pub fn read(content: &PageContent) -> Result<FiscalRecord, Mismatch> {
    let code = code(content)?;
    let optional = |label| value(content, label).map(|text| text.map(cut));
    let mandatory = |label, why| optional(label)?.ok_or(why);
    let totals = |label| total(content, label);
    let record = FiscalRecord {
        trader: content.trader.as_deref().and_then(unless_blank).map(cut),
        tin: mandatory("TIN", "no TIN")?,
        vrn: optional("VRN")?,
        serial: mandatory("SERIAL NO", "no SERIAL NO")?,
        uin: optional("UIN")?,
        tax_office: optional("TAX OFFICE")?,
        receipt_number: mandatory("RECEIPT NO", "no RECEIPT NO")?,
        z_number: optional("Z NUMBER")?,
        date: date(&mandatory("RECEIPT DATE", "no RECEIPT DATE")?)?,
        time: optional("RECEIPT TIME")?
            .map(|text| time(&text))
            .transpose()?,
        items: items(content)?,
        total_excl_cents: totals("TOTAL EXCL OF TAX")?,
        total_tax_cents: totals("TOTAL TAX")?,
        total_incl_cents: totals("TOTAL INCL OF TAX")?,
        void: void(&content.marks),
        code,
    };
    check(&record)?;
    Ok(record)
}

pub fn code(content: &PageContent) -> Result<VerificationCode, Mismatch> {
    let mut found: Option<VerificationCode> = None;
    let mut is_awaited = false;
    for line in &content.lines {
        let text = match line.text.split_once(FOUND_MARKER) {
            Some((_, rest)) => {
                is_awaited = true;
                rest.trim_start_matches(':').trim()
            }
            None if is_awaited && line.in_heading => line.text.as_str(),
            None => continue,
        };
        if text.is_empty() {
            continue;
        }
        is_awaited = false;
        let code: VerificationCode = text.parse().map_err(|_| NO_CODE)?;
        if found.as_ref().is_some_and(|found| *found != code) {
            return Err("more than one code");
        }
        found = Some(code);
    }
    found.ok_or(NO_CODE)
}

fn value<'a>(content: &'a PageContent, label: &str) -> Result<Option<&'a str>, Mismatch> {
    let fields = content.lines.iter().flat_map(|line| &line.fields);
    let mut values = fields
        .filter(|field| field.label == label)
        .filter_map(|field| unless_blank(&field.value));
    let first = values.next();
    if values.any(|other| Some(other) != first) {
        return Err("a label with two values");
    }
    Ok(first)
}

fn unless_blank(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_blank = ["", "-", "n/a", "nil"]
        .iter()
        .any(|blank| text.eq_ignore_ascii_case(blank));
    (!is_blank).then_some(text)
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}

/// `DD/MM/YYYY`, or `YYYY-MM-DD` on older pages.
fn date(text: &str) -> Result<NaiveDate, Mismatch> {
    let shape: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let format = match shape.as_str() {
        "00/00/0000" => "%d/%m/%Y",
        "0000-00-00" => "%Y-%m-%d",
        _ => return Err("RECEIPT DATE in another format"),
    };
    NaiveDate::parse_from_str(text, format).map_err(|_| "RECEIPT DATE is not a day")
}

fn time(text: &str) -> Result<ReceiptTime, Mismatch> {
    ReceiptTime::from_typed(text).map_err(|_| "RECEIPT TIME is no time")
}

fn void(marks: &[VoidMark]) -> Option<VoidMark> {
    // A cancelled receipt in training mode counts as cancelled.
    let cancelled = marks.iter().find(|mark| **mark == VoidMark::Cancelled);
    cancelled.or(marks.first()).copied()
}

struct Columns {
    description: usize,
    quantity: usize,
    amount: usize,
}

impl Columns {
    fn from_headings(row: &[String]) -> Option<Self> {
        let column = |heading: &str| {
            row.iter()
                .position(|cell| collapsed(cell).eq_ignore_ascii_case(heading))
        };
        Some(Self {
            description: column("Description")?,
            quantity: column("Qty")?,
            amount: column("Amount")?,
        })
    }
}

fn items(content: &PageContent) -> Result<Vec<FiscalItem>, Mismatch> {
    let mut tables = content.tables.iter().filter_map(|table| {
        table
            .rows
            .iter()
            .enumerate()
            .find_map(|(index, row)| Some((table, index, Columns::from_headings(row)?)))
    });
    let Some((table, headings, columns)) = tables.next() else {
        return Err("no table of items");
    };
    if tables.next().is_some() {
        return Err("more than one table of items");
    }
    let rows = table.rows.iter().skip(headings + 1);
    // Totals in the same table end the items.
    let rows = rows.take_while(|row| !row.iter().any(|cell| is_total(cell)));
    let mut items = Vec::new();
    for row in rows.filter(|row| row.iter().any(|cell| unless_blank(cell).is_some())) {
        if items.len() == MAX_ITEMS {
            return Err("more items than a receipt has");
        }
        items.push(item(row, &columns)?);
    }
    if items.is_empty() {
        Err("no items")
    } else {
        Ok(items)
    }
}

fn item(row: &[String], columns: &Columns) -> Result<FiscalItem, Mismatch> {
    let cell = |column: usize| {
        row.get(column)
            .ok_or("an item with fewer cells than headings")
    };
    let description = cut(&collapsed(cell(columns.description)?));
    let quantity = match unless_blank(cell(columns.quantity)?) {
        Some(text) => Some(Quantity::parse(text).ok_or("a Qty that is not a number")?),
        None => None,
    };
    let amount_cents =
        parse_cents(cell(columns.amount)?).ok_or("an Amount that is not an amount")?;
    Ok(FiscalItem {
        description,
        quantity,
        amount_cents,
    })
}

const TOTALS: [&str; 3] = ["TOTAL EXCL OF TAX", "TOTAL TAX", "TOTAL INCL OF TAX"];

fn is_total(cell: &str) -> bool {
    let label = total_label(cell);
    TOTALS.contains(&label.as_str())
}

fn total_label(cell: &str) -> String {
    collapsed(cell)
        .trim_end_matches(':')
        .trim_end()
        .to_ascii_uppercase()
}

fn total(content: &PageContent, label: &str) -> Result<Option<i64>, Mismatch> {
    let rows = content
        .tables
        .iter()
        .flat_map(|table: &HtmlTable| &table.rows);
    let mut found: Option<i64> = None;
    for row in rows {
        let mut cells = row.iter();
        if !cells.any(|cell| total_label(cell) == label) {
            continue;
        }
        let Some(text) = cells.find_map(|cell| unless_blank(cell)) else {
            continue;
        };
        let cents = parse_cents(text).ok_or("a total that is not an amount")?;
        if found.is_some_and(|found| found != cents) {
            return Err("a total with two values");
        }
        found = Some(cents);
    }
    Ok(found)
}

/// Blank values pass.
fn check(record: &FiscalRecord) -> Result<(), Mismatch> {
    if record.code.receipt_number() != record.receipt_number {
        return Err("the code does not end with RECEIPT NO");
    }
    if let Some(uin) = &record.uin {
        let device = format!(
            "{}{}",
            bare_identifier(&record.tin),
            bare_identifier(&record.serial)
        );
        if !bare_identifier(uin).ends_with(&device) {
            return Err("UIN does not end with TIN and SERIAL NO");
        }
    }
    if let (Some(excl), Some(tax), Some(incl)) = (
        record.total_excl_cents,
        record.total_tax_cents,
        record.total_incl_cents,
    ) && excl.checked_add(tax) != Some(incl)
    {
        return Err("the totals do not add up");
    }
    Ok(())
}
