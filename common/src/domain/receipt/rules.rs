//! A campaign's rules for receipts.

use serde::{Deserialize, Serialize};

/// A campaign's `receipt` block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptRules {
    /// True if every submission must carry a receipt.
    pub required: bool,
    /// True if a receipt's code and time may be typed in.
    pub typed: bool,
    /// The treatment of a genuine receipt without a participating product.
    pub on_no_match: OnNoMatch,
    /// The most entries of one receipt without an operator; one that earns more goes to review.
    #[serde(default = "ReceiptRules::default_max_entries")]
    pub max_entries: u32,
    /// Product ranges, for grouping.
    pub ranges: Vec<ProductRange>,
    /// Participating products; if empty, any purchase counts.
    pub products: Vec<Product>,
    /// Participating branches; if empty, any shop counts.
    pub branches: Vec<Branch>,
    /// The frequency of the draw, in words.
    pub draw_period: Option<String>,
}

impl ReceiptRules {
    /// The value of `max_entries`, unless the campaign sets another.
    pub const DEFAULT_MAX_ENTRIES: u32 = 100;

    fn default_max_entries() -> u32 {
        Self::DEFAULT_MAX_ENTRIES
    }
}

impl Default for ReceiptRules {
    fn default() -> Self {
        Self {
            required: false,
            typed: false,
            on_no_match: OnNoMatch::default(),
            max_entries: Self::DEFAULT_MAX_ENTRIES,
            ranges: Vec::new(),
            products: Vec::new(),
            branches: Vec::new(),
            draw_period: None,
        }
    }
}

/// The treatment of a receipt without a participating product. Tills often print no more than "summarized sale".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNoMatch {
    /// An operator reviews it.
    #[default]
    Review,
    /// It is declined as a purchase without a participating product.
    Decline,
}

/// A product range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProductRange {
    /// Name of the range.
    #[cfg_attr(feature = "schema", schemars(length(max = 120)))]
    pub name: String,
    /// Short tag line, or null.
    #[cfg_attr(feature = "schema", schemars(length(max = 120)))]
    pub tag: Option<String>,
}

/// A participating product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// The product's key, which callers send as `claimed.items[].key`.
    pub key: String,
    /// The name of its range.
    pub range: String,
    /// A short label, for a tile.
    pub label: String,
    /// The full name, as on the pack.
    pub name: String,
    /// The color of its tile.
    pub color: Option<String>,
    /// The path of its image.
    pub image: Option<String>,
    /// Texts that tills print for the product; an item's description has to contain one of them.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Entries for each piece bought.
    pub entries: u32,
}

/// A participating branch. The authority's record does not name it: it is recognized by the trader's number and the
/// fiscal device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The branch's key, which is unique in the campaign.
    pub key: String,
    /// The branch's name.
    pub name: String,
    /// The branch's city.
    pub city: String,
    /// The name of the branch's merchant.
    pub merchant: String,
    /// The merchant's taxpayer number: 9 digits.
    pub tin: String,
    /// The serial numbers of its fiscal devices; if empty, every device of the merchant counts.
    pub serials: Vec<String>,
}
