//! Draws a printed receipt: text-like lines above QR codes.

use image::{GrayImage, Luma};
use qrcode::{Color, EcLevel, QrCode};

use crate::TooLong;
use crate::random::Sequence;

/// Pixels a module.
pub(crate) const MODULE: u32 = 4;

/// A QR code's empty border in modules, from the standard.
const QUIET: u32 = 4;

const CODES_IN_ROW: usize = 3;

/// Height with spacing, in pixels.
const LINE: u32 = 14;

const TEXT_LINES: u32 = 26;
const MARGIN: u32 = 24;
const NARROWEST: u32 = 260;

const WHITE: Luma<u8> = Luma([255]);
const BLACK: Luma<u8> = Luma([0]);

/// Black on white.
pub(crate) struct Paper {
    pub(crate) print: GrayImage,
    /// Center of the codes, and of the photo.
    pub(crate) middle: (f32, f32),
}

pub(crate) fn print(payloads: &[&str], seed: u64) -> Result<Paper, TooLong> {
    let codes = payloads
        .iter()
        .map(|payload| code(payload))
        .collect::<Result<Vec<_>, _>>()?;
    let rows: Vec<_> = codes.chunks(CODES_IN_ROW).collect();
    let row_width = |row: &&[GrayImage]| row.iter().map(GrayImage::width).sum::<u32>();
    let row_height = |row: &&[GrayImage]| row.iter().map(GrayImage::height).max().unwrap_or(0);
    let width = rows.iter().map(row_width).max().unwrap_or(0).max(NARROWEST) + 2 * MARGIN;
    let codes_top = MARGIN + TEXT_LINES * LINE;
    let codes_height: u32 = rows.iter().map(row_height).sum();
    let mut print = GrayImage::from_pixel(width, codes_top + codes_height + 6 * LINE, WHITE);
    let mut random = Sequence::new(seed ^ 0x0070_6170_6572);
    for line in 0..TEXT_LINES {
        write_line(&mut print, MARGIN + line * LINE, &mut random);
    }
    let mut top = codes_top;
    for row in &rows {
        let mut left = (width - row_width(row)) / 2;
        for code in *row {
            image::imageops::replace(&mut print, code, i64::from(left), i64::from(top));
            left += code.width();
        }
        top += row_height(row);
    }
    for line in 0..4 {
        write_line(&mut print, top + line * LINE, &mut random);
    }
    let middle = (half(width), pixels(codes_top) + half(codes_height));
    Ok(Paper { print, middle })
}

fn code(payload: &str) -> Result<GrayImage, TooLong> {
    let code = QrCode::with_error_correction_level(payload, EcLevel::M)?;
    let modules = u32::try_from(code.width()).unwrap_or_default();
    let colors = code.to_colors();
    let side = (modules + 2 * QUIET) * MODULE;
    Ok(GrayImage::from_fn(side, side, |x, y| {
        let module = |at: u32| (at / MODULE).checked_sub(QUIET).filter(|&at| at < modules);
        let index = module(x)
            .zip(module(y))
            .and_then(|(x, y)| usize::try_from(y * modules + x).ok());
        match index.and_then(|index| colors.get(index)) {
            Some(Color::Dark) => BLACK,
            Some(Color::Light) | None => WHITE,
        }
    }))
}

/// Draws words of random strokes until the line ends.
fn write_line(print: &mut GrayImage, top: u32, random: &mut Sequence) {
    let end = print.width() - MARGIN;
    let mut x = MARGIN;
    while x + 8 < end {
        if random.fraction() < 0.15 {
            x += 8;
            continue;
        }
        for _ in 0..3 {
            let across = random.fraction() < 0.5;
            let (left, down) = (random.fraction() * 4.0, random.fraction() * 7.0);
            let (left, down) = (x + whole(left), top + whole(down));
            for step in 0..if across { 5 } else { 8 } {
                let (x, y) = if across {
                    (x + step, down)
                } else {
                    (left, top + step)
                };
                print.put_pixel(x, y, BLACK);
                print.put_pixel(x + 1, y, BLACK);
            }
        }
        x += 8;
        if random.fraction() < 0.02 {
            return;
        }
    }
}

#[expect(clippy::as_conversions, reason = "small positive numbers of a drawing")]
fn whole(length: f32) -> u32 {
    length as u32
}

#[expect(
    clippy::as_conversions,
    reason = "sides of a drawing are exact in an f32"
)]
fn pixels(length: u32) -> f32 {
    length as f32
}

fn half(length: u32) -> f32 {
    pixels(length) / 2.0
}
