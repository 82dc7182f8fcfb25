use crate::tax_portal::Shop;

/// Of the demo campaigns. Ordered by the two digits after a receipt code's first four letters: 01,
/// 02, …
pub const SHOPS: &[Shop] = &[shop("03TZ343001520"), shop("03TZ343001521")];

const fn shop(serial: &'static str) -> Shop {
    Shop {
        trader: "DUKA KUU LIMITED",
        tin: "100147181",
        serial,
        items: &[("CHAI BORA 250G", 250_000), ("CHAI BORA 500G", 460_000)],
    }
}
