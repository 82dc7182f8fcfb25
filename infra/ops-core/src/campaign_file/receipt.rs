//! The `receipt` block of a campaign file.

use std::collections::{HashMap, HashSet};

use common::domain::receipt::rules::{Branch, Product, ProductRange, ReceiptRules};

use super::fields::{Field, Fields, closest, listed};

/// Digits of a taxpayer number.
const TIN_DIGITS: usize = 9;

/// Reads the block; a wrong field is noted and treated as omitted.
pub(super) fn read(field: &Field<'_>) -> Option<ReceiptRules> {
    let fields = field.block()?;
    let switch = |name| fields.get(name).and_then(|field| field.switch());
    let ranges = ranges(&fields);
    let names: Vec<&str> = ranges.iter().map(|range| range.name.as_str()).collect();
    let max_entries = fields
        .count("max_entries")
        .unwrap_or(ReceiptRules::DEFAULT_MAX_ENTRIES);
    Some(ReceiptRules {
        required: switch("required").unwrap_or(true),
        typed: switch("typed").unwrap_or(false),
        on_no_match: fields
            .get("on_no_match")
            .and_then(|field| field.choice())
            .unwrap_or_default(),
        max_entries,
        products: products(&fields, &names, max_entries),
        branches: branches(&fields),
        draw_period: fields.text("draw_period"),
        ranges,
    })
}

fn ranges(fields: &Fields<'_>) -> Vec<ProductRange> {
    let mut names = HashSet::new();
    let range = |item: Field<'_>| {
        let fields = item.block()?;
        let tag = fields.text("tag");
        let field = fields.required("name")?;
        let name = field.text()?.to_owned();
        note_twice(&field, &name, &mut names);
        Some(ProductRange { name, tag })
    };
    fields
        .items("ranges")
        .into_iter()
        .filter_map(range)
        .collect()
}

fn products(fields: &Fields<'_>, ranges: &[&str], max_entries: u32) -> Vec<Product> {
    let mut keys = HashSet::new();
    let product = |item: Field<'_>| {
        let fields = item.block()?;
        let key = key(&fields, &mut keys);
        let range = fields
            .required("range")
            .and_then(|field| range_of(&field, ranges));
        let (label, name) = (fields.required_text("label"), fields.required_text("name"));
        let (color, image) = (fields.text("color"), fields.text("image"));
        let matches = matches(&fields);
        let entries = fields
            .get("entries")
            .and_then(|field| entries(&field, max_entries))
            .unwrap_or(1);
        Some(Product {
            key: key?,
            range: range?,
            label: label?,
            name: name?,
            color,
            image,
            matches,
            entries,
        })
    };
    fields
        .items("products")
        .into_iter()
        .filter_map(product)
        .collect()
}

fn entries(field: &Field<'_>, max_entries: u32) -> Option<u32> {
    let entries = field.count()?;
    if entries > max_entries {
        field.problem(format!(
            "is more than the {max_entries} of receipt.max_entries, so that every receipt with this product would \
             go to a person; raise one or lower the other"
        ));
    }
    Some(entries)
}

fn range_of(field: &Field<'_>, ranges: &[&str]) -> Option<String> {
    let name = field.text()?;
    if ranges.contains(&name) {
        return Some(name.to_owned());
    }
    field.problem(match closest(name, ranges) {
        Some(closest) => format!("is not a range of this file; did you mean `{closest}`?"),
        None if ranges.is_empty() => {
            "is not a range of this file; add it, such as `ranges: [{ name: Classic }]`".to_owned()
        }
        None => format!("is not a range of this file; here are {}", listed(ranges)),
    });
    None
}

fn matches(fields: &Fields<'_>) -> Vec<String> {
    let Some(field) = fields.required("match") else {
        return Vec::new();
    };
    let Some(items) = field.items() else {
        return Vec::new();
    };
    if items.is_empty() {
        field
            .problem("must hold at least one text that tills print, such as `[\"CHAI BORA 250\"]`");
    }
    let text = |item: Field<'_>| {
        let text = item.text()?;
        if !text.chars().any(char::is_alphanumeric) {
            item.problem("must hold a letter or a digit: nothing else is compared");
        }
        Some(text.to_owned())
    };
    items.into_iter().filter_map(text).collect()
}

fn branches(fields: &Fields<'_>) -> Vec<Branch> {
    let mut keys = HashSet::new();
    let mut devices = Devices::default();
    let branch = |item: Field<'_>| {
        let fields = item.block()?;
        let key = key(&fields, &mut keys);
        let name = fields.required_text("name");
        let (city, merchant) = (
            fields.required_text("city"),
            fields.required_text("merchant"),
        );
        let tin_field = fields.required("tin");
        let tin = tin_field.as_ref().and_then(|field| field.parsed(tin_of));
        let listed = fields.get("serials").map(|field| field.items());
        let every_one = listed
            .as_ref()
            .is_none_or(|items| items.as_ref().is_some_and(Vec::is_empty));
        if let (Some(field), Some(tin), true) = (&tin_field, &tin, every_one) {
            devices.take_every_one(field, tin);
        }
        let serial = |item: Field<'_>| {
            let serial = item.parsed(serial_of)?;
            if let Some(tin) = &tin {
                devices.take(&item, tin, &serial);
            }
            Some(serial)
        };
        let serials = listed
            .flatten()
            .unwrap_or_default()
            .into_iter()
            .filter_map(serial)
            .collect();
        Some(Branch {
            key: key?,
            name: name?,
            city: city?,
            merchant: merchant?,
            tin: tin?,
            serials,
        })
    };
    fields
        .items("branches")
        .into_iter()
        .filter_map(branch)
        .collect()
}

fn tin_of(text: &str) -> Result<String, String> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if digits.len() == TIN_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(digits)
    } else {
        Err("must be a taxpayer number of 9 digits, in quotes, such as `\"100147181\"`".to_owned())
    }
}

fn serial_of(text: &str) -> Result<String, String> {
    if (1..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 40 letters and digits, such as `\"03TZ343001520\"`".to_owned())
    }
}

/// The fiscal devices of the branches read so far: a device can belong to one branch only. The values are paths of the
/// fields.
#[derive(Default)]
struct Devices {
    /// By taxpayer number and serial number.
    single: HashMap<(String, String), String>,
    /// By taxpayer number, for branches without serial numbers.
    every: HashMap<String, String>,
}

impl Devices {
    fn take(&mut self, field: &Field<'_>, tin: &str, serial: &str) {
        // Receipts are compared case-insensitively.
        let device = (tin.to_owned(), serial.to_ascii_uppercase());
        if let Some(first) = self.single.get(&device) {
            field.problem(format!(
                "is {first} already, with the same tin; keep one of them"
            ));
        } else {
            self.single.insert(device, field.path().to_owned());
        }
    }

    fn take_every_one(&mut self, field: &Field<'_>, tin: &str) {
        if let Some(first) = self.every.get(tin) {
            field.problem(format!(
                "is {first} already, and neither branch has serials; list the serials of one of them"
            ));
        } else {
            self.every.insert(tin.to_owned(), field.path().to_owned());
        }
    }
}

fn key(fields: &Fields<'_>, taken: &mut HashSet<String>) -> Option<String> {
    let field = fields.required("key")?;
    let such_as = field.example();
    let key = field.parsed(|text| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(text.to_owned())
        } else {
            Err(format!(
                "must be 1 to 64 of letters, digits, `-` and `_`, such as `{such_as}`"
            ))
        }
    })?;
    note_twice(&field, &key, taken);
    Some(key)
}

fn note_twice(field: &Field<'_>, name: &str, taken: &mut HashSet<String>) {
    if !taken.insert(name.to_owned()) {
        field.problem("is that of an earlier one in this list; give each its own");
    }
}
