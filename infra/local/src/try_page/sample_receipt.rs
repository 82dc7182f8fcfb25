//! Draws a sample receipt for users without one. It is larger than the photo that the page sends.

use std::fmt::Write as _;

use common::error::{Error, FieldProblem};
use qrcode::{Color, EcLevel, QrCode};

use crate::tax_portal::cases::TIME;

/// Prefix of test receipt codes; such a code is the whole text of its QR code.
const TEST_PREFIX: &str = "TEST0";
/// The base of real receipts' QR codes.
const PORTAL: &str = "https://verify.tra.go.tz";
/// Width and height of the picture in pixels.
const WIDTH: usize = 1_800;
const HEIGHT: usize = 2_600;
/// Size of the QR code, and its left and upper edge.
const CODE_SIDE: usize = 760;
const CODE_LEFT: usize = (WIDTH - CODE_SIDE) / 2;
const CODE_TOP: usize = 1_560;

/// Draws the receipt with the code in the query.
///
/// # Errors
/// `validation_failed` if the query has no code, or one that cannot be on a receipt.
pub(super) fn draw(query: &str) -> Result<String, Error> {
    let mut parameters = form_urlencoded::parse(query.as_bytes());
    let code = parameters.find_map(|(name, value)| (name == "code").then_some(value));
    let code = code.filter(|code| is_printable(code)).ok_or_else(|| {
        let message = "A receipt's code is 6 to 40 letters and digits; dots are for test receipts.";
        Error::fields(vec![FieldProblem {
            field: "code".to_owned(),
            message: message.to_owned(),
        }])
    })?;
    let payload = match code.starts_with(TEST_PREFIX) {
        true => code.clone().into_owned(),
        false => portal_link(&code, TIME),
    };
    let qr = QrCode::with_error_correction_level(&payload, EcLevel::M).map_err(Error::internal)?;
    Ok(receipt(&code, &qr))
}

/// The text of a real receipt's QR code.
pub(crate) fn portal_link(code: &str, time: &str) -> String {
    format!("{PORTAL}/{code}_{}", time.replace(':', ""))
}

fn is_printable(code: &str) -> bool {
    let printed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'.';
    (6..=40).contains(&code.len()) && code.bytes().all(printed)
}

fn receipt(code: &str, qr: &QrCode) -> String {
    let lines = [
        "*** SAMPLE, NOT A RECEIPT ***",
        "DUKA KUU LIMITED",
        "KARIAKOO, DAR ES SALAAM",
        "TIN 100147181",
        "",
        "CHAI BORA 250G       2,500.00",
        "MAZIWA               1,800.00",
        "",
        "TOTAL                4,300.00",
        "",
        "RECEIPT VERIFICATION CODE",
        code,
        TIME,
    ];
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let y = 170 + index * 104;
        // Writing to a `String` cannot fail.
        let _ = write!(text, "<text x=\"{}\" y=\"{y}\">{line}</text>", WIDTH / 2);
    }
    let modules = qr.width();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\">\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fdfcf7\"/>\
         <g fill=\"#222\" font-family=\"monospace\" font-size=\"72\" text-anchor=\"middle\" xml:space=\"preserve\">{text}</g>\
         <svg x=\"{CODE_LEFT}\" y=\"{CODE_TOP}\" width=\"{CODE_SIDE}\" height=\"{CODE_SIDE}\" viewBox=\"0 0 {modules} {modules}\" \
         shape-rendering=\"crispEdges\"><path d=\"{}\" fill=\"#111\"/></svg></svg>\n",
        dark_modules(qr)
    )
}

/// A square for each dark module.
fn dark_modules(qr: &QrCode) -> String {
    let width = qr.width();
    let mut path = String::new();
    for (index, color) in qr.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let _ = write!(path, "M{} {}h1v1h-1z", index % width, index / width);
        }
    }
    path
}
