//! The shops of the demo campaigns; the simulated tax authority has their receipts.

use crate::tax_portal::{Shop, ShopItem};

/// The shops, in the order of the two digits after a receipt code's first four letters: 01, 02, …
pub fn shops() -> Vec<Shop> {
    let shop = |serial: &str| Shop {
        trader: "DUKA KUU LIMITED".to_owned(),
        tin: "100147181".to_owned(),
        serial: serial.to_owned(),
        items: vec![
            item("CHAI BORA 250G", 250_000),
            item("CHAI BORA 500G", 460_000),
        ],
    };
    vec![shop("03TZ343001520"), shop("03TZ343001521")]
}

fn item(description: &str, price_cents: i64) -> ShopItem {
    ShopItem {
        description: description.to_owned(),
        price_cents,
    }
}
