use super::record::FiscalItem;
use super::rules::Product;

#[derive(Clone, Debug)]
pub(super) struct Bought<'a> {
    product: &'a Product,
    thousandths: i64,
}

impl Bought<'_> {
    /// Weighed products count as one piece at least.
    fn pieces(&self) -> u32 {
        u32::try_from(self.thousandths / 1_000)
            .unwrap_or(u32::MAX)
            .max(1)
    }

    pub(super) fn entries(&self) -> u32 {
        self.product.entries.saturating_mul(self.pieces())
    }
}

/// Each product once, in the campaign's order, minus returned items.
pub(super) fn bought<'a>(items: &[FiscalItem], products: &'a [Product]) -> Vec<Bought<'a>> {
    let one_piece = 1_000;
    let mut bought: Vec<Bought<'a>> = products
        .iter()
        .map(|product| Bought {
            product,
            thousandths: 0,
        })
        .collect();
    for item in items {
        let Some(index) = product_of(item, products) else {
            continue;
        };
        let quantity = item
            .quantity
            .map_or(one_piece, |quantity| quantity.as_thousandths());
        let given_back = item.amount_cents < 0;
        let quantity = if given_back {
            quantity.saturating_abs().saturating_neg()
        } else {
            quantity
        };
        if let Some(line) = bought.get_mut(index) {
            line.thousandths = line.thousandths.saturating_add(quantity);
        }
    }
    bought.retain(|line| line.thousandths > 0);
    bought
}

fn product_of(item: &FiscalItem, products: &[Product]) -> Option<usize> {
    let description = bare(&item.description);
    let longest = |product: &Product| {
        let held = product.matches.iter().map(|text| bare(text));
        held.filter(|text| !text.is_empty() && holds(&description, text))
            .map(|text| text.len())
            .max()
    };
    let matches = products
        .iter()
        .enumerate()
        .filter_map(|(index, product)| Some((longest(product)?, index)));
    // The campaign's order breaks ties.
    matches
        .max_by_key(|(length, index)| (*length, std::cmp::Reverse(*index)))
        .map(|(_, index)| index)
}

/// Whole words: `CHAI 25` is not in `CHAI 250`, but in `CHAI 25G`.
fn holds(description: &str, text: &str) -> bool {
    let goes_on = |one: Option<char>, other: Option<char>| match (one, other) {
        (Some(one), Some(other)) => {
            (one.is_numeric() && other.is_numeric())
                || (one.is_alphabetic() && other.is_alphabetic())
        }
        (Some(_) | None, Some(_) | None) => false,
    };
    description.match_indices(text).any(|(start, _)| {
        let before = description
            .get(..start)
            .and_then(|before| before.chars().next_back());
        let after = description
            .get(start + text.len()..)
            .and_then(|after| after.chars().next());
        !goes_on(before, text.chars().next()) && !goes_on(text.chars().next_back(), after)
    })
}

/// Upper case with one space between words; anything but letters and digits separates them.
fn bare(text: &str) -> String {
    let upper = text.to_uppercase();
    let words = upper
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

pub(super) fn in_words(bought: &[Bought<'_>]) -> Option<String> {
    let words: Vec<_> = bought
        .iter()
        .map(|line| format!("{} x {}", line.pieces(), line.product.name))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::record::Quantity;
    use super::*;

    fn item(description: &str, thousandths: i64, amount_cents: i64) -> FiscalItem {
        let quantity = Some(Quantity::from_thousandths(thousandths));
        FiscalItem {
            description: description.to_owned(),
            quantity,
            amount_cents,
        }
    }

    fn product(text: &str) -> Product {
        Product {
            key: text.to_owned(),
            range: "Classic".to_owned(),
            label: text.to_owned(),
            name: text.to_owned(),
            color: None,
            image: None,
            matches: vec![text.to_owned()],
            entries: 1,
        }
    }

    #[test]
    fn what_costs_nothing_was_bought_and_what_was_paid_back_was_not() {
        let products = [product("CHAI")];
        let in_words = |items: &[FiscalItem]| in_words(&bought(items, &products));
        assert_eq!(
            in_words(&[item("CHAI", 2_000, 0)]).as_deref(),
            Some("2 x CHAI")
        );
        assert_eq!(
            in_words(&[item("CHAI", 2_000, 500), item("CHAI", 1_000, -250)]).as_deref(),
            Some("1 x CHAI")
        );
        assert_eq!(
            in_words(&[item("CHAI", 2_000, 500), item("CHAI", 2_000, -500)]),
            None
        );
    }
}
