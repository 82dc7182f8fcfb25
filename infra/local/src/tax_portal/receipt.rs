use chrono::{Days, NaiveDate};

use super::Shop;
use super::cases::{LONG_AGO, Paper};

pub(crate) struct Receipt {
    pub(crate) code: String,
    pub(crate) trader: &'static str,
    pub(crate) tin: &'static str,
    pub(crate) serial: &'static str,
    pub(crate) date: NaiveDate,
    pub(crate) lines: Vec<Line>,
    pub(crate) watermark: Option<&'static str>,
}

pub(crate) struct Line {
    pub(crate) description: &'static str,
    pub(crate) quantity: String,
    pub(crate) amount_cents: i64,
}

/// Unknown to all campaigns.
const OTHER_TRADER: &str = "SOME OTHER TRADER LTD";
const OTHER_TIN: &str = "999000111";
const OTHER_SERIAL: &str = "09TZ000999";

impl Receipt {
    pub(crate) fn new(code: &str, shop: &Shop, paper: Paper, today: NaiveDate) -> Self {
        let mut receipt = Self {
            code: code.to_owned(),
            trader: shop.trader,
            tin: shop.tin,
            serial: shop.serial,
            date: today,
            lines: vec![
                line("SUGAR BROWN 1KG", 1, 320_000),
                line("BREAD WHITE SLICED", 2, 180_000),
            ],
            watermark: None,
        };
        let wanted = shop.items.first();
        let wanted = wanted.map(|&(description, price_cents)| line(description, 1, price_cents));
        receipt
            .lines
            .extend(wanted.filter(|_| paper != Paper::Unwanted));
        match paper {
            Paper::Wanted | Paper::Unwanted | Paper::OlderPage => {}
            Paper::Many => receipt.lines = many(shop),
            Paper::Generic => {
                receipt.lines = vec![
                    line("SUMMARIZED SALE - E", 1, 1_250_000),
                    line("FOOD AND DRINKS", 1, 400_000),
                ];
            }
            Paper::Cancelled => receipt.watermark = Some("cancelled-watermark"),
            Paper::Training => receipt.watermark = Some("test-watermark"),
            Paper::LongAgo => receipt.date = today - LONG_AGO,
            Paper::Future => receipt.date = today + Days::new(2),
            Paper::OtherShop => {
                receipt.trader = OTHER_TRADER;
                receipt.tin = OTHER_TIN;
                receipt.serial = OTHER_SERIAL;
            }
            Paper::OtherDevice => receipt.serial = OTHER_SERIAL,
        }
        receipt
    }

    /// The number on the device: the code after six characters.
    pub(crate) fn number(&self) -> &str {
        self.code.get(6..).unwrap_or_default()
    }

    pub(crate) fn totals(&self) -> (i64, i64, i64) {
        let with_tax: i64 = self.lines.iter().map(|line| line.amount_cents).sum();
        let without = with_tax * 100 / 118;
        (without, with_tax - without, with_tax)
    }
}

/// Every product, quantities 2, 3, 4 and so on, then half a unit of the first.
fn many(shop: &Shop) -> Vec<Line> {
    let whole = |(&(description, price_cents), quantity)| line(description, quantity, price_cents);
    let mut lines: Vec<Line> = shop.items.iter().zip(2..).map(whole).collect();
    let half = shop.items.first();
    lines.extend(half.map(|&(description, price_cents)| Line {
        description,
        quantity: "0.500".to_owned(),
        amount_cents: price_cents / 2,
    }));
    lines.push(line("CARRIER BAG", 1, 20_000));
    lines
}

fn line(description: &'static str, quantity: i64, price_cents: i64) -> Line {
    Line {
        description,
        quantity: quantity.to_string(),
        amount_cents: price_cents * quantity,
    }
}
