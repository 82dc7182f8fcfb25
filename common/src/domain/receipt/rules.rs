//! What a campaign asks of a receipt.

use serde::{Deserialize, Serialize};

/// A campaign's `receipt` block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptRules {
    /// Whether every submission must carry a receipt.
    pub required: bool,
    /// Whether code and time may be typed in.
    pub typed: bool,
    /// What happens to an honest receipt that names no participating product.
    pub on_no_match: OnNoMatch,
    /// The most entries that one receipt earns by itself; a person looks at one that would earn more.
    #[serde(default = "ReceiptRules::default_max_entries")]
    pub max_entries: u32,
    /// Product ranges, for grouping.
    pub ranges: Vec<ProductRange>,
    /// Participating products; any purchase counts when there are none.
    pub products: Vec<Product>,
    /// Participating branches; any shop counts when there are none.
    pub branches: Vec<Branch>,
    /// The rhythm of the draw, in words.
    pub draw_period: Option<String>,
}

impl ReceiptRules {
    /// The most entries of one receipt, where a campaign says nothing else.
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

/// What happens to a receipt that names no participating product. Tills often print no more than
/// "summarized sale".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNoMatch {
    /// A person looks at it.
    #[default]
    Review,
    /// It is declined.
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
    /// Its key, which callers send as `claimed.items[].key`.
    pub key: String,
    /// The range it belongs to, by name.
    pub range: String,
    /// A short label.
    pub label: String,
    /// Its full name.
    pub name: String,
    /// A colour for its tile.
    pub color: Option<String>,
    /// The path of its image.
    pub image: Option<String>,
    /// Texts that tills print for it; one of them has to be in an item's description.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Entries for each one bought.
    pub entries: u32,
}

/// A participating branch. The authority's record names none: it is recognised by the trader's number
/// and the fiscal device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Its city.
    pub city: String,
    /// The merchant it belongs to.
    pub merchant: String,
    /// The merchant's taxpayer number: 9 digits.
    pub tin: String,
    /// The serial numbers of its fiscal devices; every device of the merchant when there are none.
    pub serials: Vec<String>,
}
