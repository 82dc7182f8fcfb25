use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptRules {
    pub required: bool,
    pub typed: bool,
    pub on_no_match: OnNoMatch,
    /// A receipt that earns more goes to review.
    #[serde(default = "ReceiptRules::default_max_entries")]
    pub max_entries: u32,
    pub ranges: Vec<ProductRange>,
    /// Empty for any purchase.
    pub products: Vec<Product>,
    /// Empty for any shop.
    pub branches: Vec<Branch>,
    pub draw_period: Option<String>,
}

impl ReceiptRules {
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

/// Tills often print no more than "summarized sale".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNoMatch {
    #[default]
    Review,
    Decline,
}

/// A product range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProductRange {
    /// Name of the range.
    #[schemars(length(max = 120))]
    pub name: String,
    /// Short tag line, or null.
    #[schemars(length(max = 120))]
    pub tag: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// Key in `claimed.items[]`.
    pub key: String,
    pub range: String,
    pub label: String,
    pub name: String,
    pub color: Option<String>,
    pub image: Option<String>,
    /// Descriptions contain one of them.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    pub entries: u32,
}

/// The record does not name it: trader and fiscal device identify it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    pub key: String,
    pub name: String,
    pub city: String,
    pub merchant: String,
    /// Taxpayer number of the merchant: 9 digits.
    pub tin: String,
    pub serials: Vec<String>,
}
