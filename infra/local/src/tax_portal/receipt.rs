//! The portal's receipts, made from a shop and the requested contents.

use chrono::{Days, NaiveDate};

use super::cases::{LONG_AGO, Paper};
use super::{Shop, ShopItem};

pub(super) struct Receipt {
    pub(super) code: String,
    pub(super) trader: String,
    pub(super) tin: String,
    pub(super) serial: String,
    pub(super) date: NaiveDate,
    pub(super) lines: Vec<Line>,
    /// The CSS class of its watermark.
    pub(super) watermark: Option<&'static str>,
}

pub(super) struct Line {
    pub(super) description: String,
    pub(super) quantity: String,
    pub(super) amount_cents: i64,
}

/// A trader unknown to all campaigns.
const OTHER_TIN: &str = "999000111";
/// A device unknown to all campaigns.
const OTHER_SERIAL: &str = "09TZ000999";

impl Receipt {
    pub(super) fn new(code: &str, shop: &Shop, paper: Paper, today: NaiveDate) -> Self {
        let mut receipt = Self {
            code: code.to_owned(),
            trader: shop.trader.clone(),
            tin: shop.tin.clone(),
            serial: shop.serial.clone(),
            date: today,
            lines: lines(shop, paper),
            watermark: None,
        };
        match paper {
            Paper::Wanted | Paper::Many | Paper::Generic | Paper::Unwanted | Paper::OlderPage => {}
            Paper::Cancelled => receipt.watermark = Some("cancelled-watermark"),
            Paper::Training => receipt.watermark = Some("test-watermark"),
            Paper::LongAgo => {
                receipt.date = today.checked_sub_days(LONG_AGO).unwrap_or(NaiveDate::MIN)
            }
            Paper::Future => {
                receipt.date = today
                    .checked_add_days(Days::new(2))
                    .unwrap_or(NaiveDate::MAX)
            }
            Paper::OtherShop => {
                receipt.trader = "SOME OTHER TRADER LTD".to_owned();
                receipt.tin = OTHER_TIN.to_owned();
                receipt.serial = OTHER_SERIAL.to_owned();
            }
            Paper::OtherDevice => receipt.serial = OTHER_SERIAL.to_owned(),
        }
        receipt
    }

    /// The receipt's number on its device: the part of the code after its first six characters.
    pub(super) fn number(&self) -> &str {
        self.code.get(6..).unwrap_or_default()
    }

    /// Totals without tax, of tax, and with tax.
    pub(super) fn totals(&self) -> (i64, i64, i64) {
        let with_tax: i64 = self.lines.iter().map(|line| line.amount_cents).sum();
        let without = with_tax * 100 / 118;
        (without, with_tax - without, with_tax)
    }
}

fn lines(shop: &Shop, paper: Paper) -> Vec<Line> {
    let unwanted = || {
        vec![
            line("SUGAR BROWN 1KG", 1, 320_000),
            line("BREAD WHITE SLICED", 2, 180_000),
        ]
    };
    match paper {
        Paper::Generic => {
            vec![
                line("SUMMARIZED SALE - E", 1, 1_250_000),
                line("FOOD AND DRINKS", 1, 400_000),
            ]
        }
        Paper::Unwanted => unwanted(),
        Paper::Many => many(shop),
        Paper::Wanted
        | Paper::Cancelled
        | Paper::Training
        | Paper::LongAgo
        | Paper::Future
        | Paper::OtherShop
        | Paper::OtherDevice
        | Paper::OlderPage => {
            let mut lines = unwanted();
            lines.extend(
                shop.items
                    .first()
                    .map(|item| line(&item.description, 1, item.price_cents)),
            );
            lines
        }
    }
}

/// Every product with quantities 2, 3, 4 and so on, then half a unit of the first one.
fn many(shop: &Shop) -> Vec<Line> {
    let whole =
        |(item, quantity): (&ShopItem, i64)| line(&item.description, quantity, item.price_cents);
    let mut lines: Vec<Line> = shop.items.iter().zip(2..).map(whole).collect();
    lines.extend(shop.items.first().map(|item| Line {
        description: item.description.clone(),
        quantity: "0.500".to_owned(),
        amount_cents: item.price_cents / 2,
    }));
    lines.push(line("CARRIER BAG", 1, 20_000));
    lines
}

fn line(description: &str, quantity: i64, price_cents: i64) -> Line {
    Line {
        description: description.to_owned(),
        quantity: quantity.to_string(),
        amount_cents: price_cents * quantity,
    }
}
