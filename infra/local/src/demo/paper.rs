//! Photos agree with the tax authority's records.

use common::domain::{FiscalRecord, Quantity, ReceiptTime};
use png::{BitDepth, ColorType, Compression, Encoder, EncodingError};
use qrcode::{Color, QrCode};

const FONT: &str = include_str!("../../demo/font.txt");

const PORTAL: &str = "https://verify.tra.go.tz";

const COLUMNS: usize = 34;
/// Pixels of a printer's dot, and of a QR module.
const DOT: usize = 3;
const MODULE: usize = 6;
const CHARACTER: usize = 6 * DOT;
const LINE: usize = 11 * DOT;
const TABLE: usize = 30;
const MARGIN: usize = 36;
const WIDTH: usize = COLUMNS * CHARACTER + 2 * (TABLE + MARGIN);

/// At the top; it gets darker towards the bottom.
const PAPER: u8 = 244;
const TABLE_TOP: u8 = 120;
const INK: u8 = 50;

/// A PNG. Without its QR code, only a person can read it.
pub(crate) fn photo(lines: &[String], qr_text: Option<&str>) -> Result<Vec<u8>, EncodingError> {
    let qr = qr_text.and_then(|text| QrCode::new(text).ok());
    let qr_height = qr.as_ref().map_or(0, |qr| (qr.width() + 8) * MODULE);
    let mut picture = Picture::new(lines.len() * LINE + qr_height + 2 * (TABLE + MARGIN));
    let top = TABLE + MARGIN;
    for (number, line) in lines.iter().enumerate() {
        picture.print(line, top + number * LINE);
    }
    if let Some(qr) = qr {
        picture.stamp(&qr, top + lines.len() * LINE + 4 * MODULE);
    }
    picture.into_png()
}

pub(super) fn payload(record: &FiscalRecord) -> String {
    portal_link(record.code.as_str(), &time(record))
}

pub(crate) fn portal_link(code: &str, time: &str) -> String {
    format!("{PORTAL}/{code}_{}", time.replace(':', ""))
}

fn time(record: &FiscalRecord) -> String {
    record.time.map(ReceiptTime::expose).unwrap_or_default()
}

pub(super) fn lines(record: &FiscalRecord) -> Vec<String> {
    let items = record.items.iter().map(|item| {
        let quantity = item.quantity.map_or(1_000, Quantity::as_thousandths);
        let text = format!("{} X {}", quantity / 1_000, item.description);
        (text, item.amount_cents)
    });
    print(
        [
            record.trader.clone().unwrap_or_default(),
            format!("TIN {}", record.tin),
            format!("SERIAL {}", record.serial),
        ],
        &record.date.format("%d-%m-%Y").to_string(),
        &time(record),
        &items.collect::<Vec<_>>(),
        record.code.as_str(),
    )
}

/// Amounts are in cents.
pub(crate) fn print(
    head: [String; 3],
    date: &str,
    time: &str,
    items: &[(String, i64)],
    code: &str,
) -> Vec<String> {
    let centered = |text: &str| format!("{text:^COLUMNS$}");
    let row = |(name, cents): &(String, i64)| {
        let amount = match cents / 100_000 {
            0 => format!("{}.00", cents / 100),
            thousands => format!("{thousands},{:03}.00", cents / 100 % 1_000),
        };
        format!(
            "{name}{amount:>width$}",
            width = COLUMNS.saturating_sub(name.chars().count())
        )
    };
    let total = items.iter().map(|(_, cents)| cents).sum();
    let mut lines = vec![centered("*** SAMPLE, NOT A RECEIPT ***")];
    lines.extend(head.iter().map(|text| centered(text)));
    lines.extend([
        String::new(),
        format!("{date:<22}{time:>12}"),
        String::new(),
    ]);
    lines.extend(items.iter().map(row));
    lines.extend([
        String::new(),
        row(&("TOTAL".to_owned(), total)),
        String::new(),
        centered("RECEIPT VERIFICATION CODE"),
        centered(code),
        String::new(),
    ]);
    lines
}

/// `None` leaves its place empty.
fn glyph(letter: char) -> Option<[u8; 5]> {
    let line = FONT.lines().find(|line| line.starts_with(letter))?;
    let mut columns = [0; 5];
    hex::decode_to_slice(line.get(2..)?, &mut columns).ok()?;
    Some(columns)
}

struct Picture {
    pixels: Vec<u8>,
    height: usize,
}

impl Picture {
    fn new(height: usize) -> Self {
        let mut pixels = Vec::with_capacity(WIDTH * height);
        for y in 0..height {
            let shade = u8::try_from(y * 40 / height.max(1)).unwrap_or_default();
            let mut row = [TABLE_TOP - shade; WIDTH];
            if (TABLE..height - TABLE).contains(&y)
                && let Some(paper) = row.get_mut(TABLE..WIDTH - TABLE)
            {
                paper.fill(PAPER - shade);
            }
            pixels.extend_from_slice(&row);
        }
        Self { pixels, height }
    }

    fn ink(&mut self, x: usize, y: usize, side: usize) {
        for y in y..y + side {
            let start = y * WIDTH + x;
            if let Some(row) = self.pixels.get_mut(start..start + side) {
                row.fill(INK);
            }
        }
    }

    fn print(&mut self, line: &str, top: usize) {
        for (index, character) in line.to_uppercase().chars().take(COLUMNS).enumerate() {
            let glyph = glyph(character).unwrap_or_default();
            for (column, dots) in glyph.into_iter().enumerate() {
                for row in (0..8).filter(|row| dots >> row & 1 == 1) {
                    let left = TABLE + MARGIN + index * CHARACTER + column * DOT;
                    self.ink(left, top + row * DOT, DOT);
                }
            }
        }
    }

    fn stamp(&mut self, qr: &QrCode, top: usize) {
        let side = qr.width();
        let left = (WIDTH - side * MODULE) / 2;
        for (index, _) in qr
            .to_colors()
            .into_iter()
            .enumerate()
            .filter(|(_, color)| *color == Color::Dark)
        {
            self.ink(
                left + index % side * MODULE,
                top + index / side * MODULE,
                MODULE,
            );
        }
    }

    fn into_png(self) -> Result<Vec<u8>, EncodingError> {
        let mut png = Vec::new();
        let pixels = |side| u32::try_from(side).unwrap_or_default();
        let mut encoder = Encoder::new(&mut png, pixels(WIDTH), pixels(self.height));
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Fast);
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(png)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use common::domain::FiscalItem;
    use photo::decode::decode;
    use photo::readers::{Attempt, Reader};

    use super::*;

    fn record() -> FiscalRecord {
        FiscalRecord {
            code: "DEMO000281".parse().unwrap(),
            trader: Some("DUKA KUU LIMITED".to_owned()),
            tin: "100147181".to_owned(),
            vrn: None,
            serial: "03TZ343001520".to_owned(),
            uin: None,
            tax_office: None,
            receipt_number: "281".to_owned(),
            z_number: None,
            date: "2026-11-17".parse().unwrap(),
            time: ReceiptTime::new(9, 5, 7),
            items: vec![FiscalItem {
                description: "CHAI BORA 250G".to_owned(),
                quantity: Some(Quantity::from_thousandths(2_000)),
                amount_cents: 500_000,
            }],
            total_excl_cents: None,
            total_tax_cents: None,
            total_incl_cents: Some(500_000),
            void: None,
        }
    }

    pub(crate) fn read(photo: &[u8]) -> Vec<String> {
        let photo = Arc::new(decode(photo).unwrap());
        let read = Reader::Rxing.read_with_timeout(&photo, Clone::clone, Duration::from_secs(30));
        let Attempt::Read(texts) = read else {
            panic!("the reader gave up")
        };
        texts
    }

    #[test]
    fn photo_has_the_code_of_its_record() {
        let record = record();
        let (lines, link) = (lines(&record), payload(&record));
        assert_eq!(link, "https://verify.tra.go.tz/DEMO000281_090507");
        assert_eq!(read(&photo(&lines, Some(&link)).unwrap()), [link]);
        assert_eq!(read(&photo(&lines, None).unwrap()), [""; 0]);
    }

    #[test]
    fn a_long_name_leaves_its_amount_whole() {
        let item = ("1 X SUMMARIZED SALE - E".to_owned(), 1_250_000);
        let lines = print(<[String; 3]>::default(), "", "", &[item], "");
        let line = lines.iter().find(|line| line.starts_with("1 X")).unwrap();
        assert_eq!(line.chars().count(), COLUMNS);
        assert!(line.ends_with(" 12,500.00"), "{line}");
    }

    #[test]
    fn paper_names_day_goods_and_code_of_its_record() {
        let lines = lines(&record());
        let printed: Vec<_> = lines.iter().map(|line| line.trim_end()).collect();
        let printed = printed.join("\n");
        insta::assert_snapshot!(printed, @r"
          *** SAMPLE, NOT A RECEIPT ***
                 DUKA KUU LIMITED
                  TIN 100147181
               SERIAL 03TZ343001520

        17-11-2026                09:05:07

        2 X CHAI BORA 250G        5,000.00

        TOTAL                     5,000.00

            RECEIPT VERIFICATION CODE
                    DEMO000281
        ");
        let has_glyph = |c: char| c.is_whitespace() || glyph(c).is_some();
        assert!(printed.chars().all(has_glyph), "{printed}");
    }
}
