use super::meaning::{Facts, meaning};
use crate::campaign_file::leaves::{self, Leaf, WholeBlock, leaves, whole_blocks};
use crate::prelude::*;

pub(crate) fn summary(campaign: &Campaign) -> Result<Vec<(String, String)>> {
    leaves::summary(campaign, |path, value| {
        in_words(path, &shown(path, Some(value.clone())), "", campaign)
    })
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct FieldChange {
    pub(crate) field: String,
    pub(crate) before: Value,
    pub(crate) after: Value,
    pub(crate) meaning: Option<String>,
    #[serde(skip)]
    left_out: &'static str,
    /// Set if only one version has the block.
    #[serde(skip)]
    block: Option<WholeBlock>,
}

/// Replaces what may hold a secret.
const HIDDEN: &str = "(not shown)";

pub(crate) fn differences(
    before: Option<&Campaign>,
    after: &Campaign,
    facts: &Facts,
) -> Result<Vec<FieldChange>> {
    let old = before.map(leaves).transpose()?.unwrap_or_default();
    let new = leaves(after)?;
    let by_path = |leaves: &[Leaf]| -> HashMap<String, Value> {
        leaves
            .iter()
            .map(|leaf| (leaf.path.clone(), leaf.value.clone()))
            .collect()
    };
    let (old_values, new_values) = (by_path(&old), by_path(&new));
    let blocks = before
        .map(|before| whole_blocks(before, after))
        .transpose()?
        .unwrap_or_default();
    let block_of = |path: &str| {
        let name = path.split(['.', '[']).next();
        blocks
            .iter()
            .find(|block| Some(block.name) == name)
            .copied()
    };
    let removed = old
        .iter()
        .filter(|leaf| !new_values.contains_key(&leaf.path));
    let mut fields: Vec<&Leaf> = new.iter().chain(removed).collect();
    fields.sort_by_key(|leaf| leaf.place);
    let mut found = Vec::new();
    for Leaf { path, left_out, .. } in fields {
        let (value_before, value_after) = (old_values.get(path), new_values.get(path));
        if value_before != value_after {
            let block = block_of(path);
            let of_field = before.filter(|_| block.is_none());
            found.push(FieldChange {
                field: path.clone(),
                before: shown(path, value_before.cloned()),
                after: shown(path, value_after.cloned()),
                meaning: of_field.and_then(|before| meaning(path, before, after, facts)),
                left_out,
                block,
            });
        }
    }
    // No field of a file says if it is archived or has webhooks.
    let is_other = |before: &Campaign| {
        Campaign {
            archived: after.archived,
            webhooks: after.webhooks,
            ..before.clone()
        } != *after
    };
    if found.is_empty() && before.is_some_and(is_other) {
        found.push(FieldChange {
            field: "receipt".to_owned(),
            before: Value::from("its lists"),
            after: Value::from("its lists in another order"),
            meaning: None,
            left_out: "",
            block: None,
        });
    }
    Ok(found)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    pub field: String,
    /// `None` in a new campaign, and in a block that is added.
    pub before: Option<String>,
    pub after: String,
    /// `None` if the row before has the same.
    pub meaning: Option<String>,
}

pub(crate) fn rows(differences: &[FieldChange], campaign: &Campaign) -> Vec<ChangeRow> {
    let mut rows = Vec::new();
    let mut said = None;
    let mut last_block = None;
    for FieldChange {
        field,
        before,
        after,
        meaning,
        left_out,
        block,
    } in differences
    {
        let value = |value| in_words(field, value, left_out, campaign);
        let mut row = ChangeRow {
            field: field.clone(),
            before: None,
            after: value(after),
            meaning: None,
        };
        if let Some(WholeBlock {
            name,
            left_out,
            is_added,
        }) = block
        {
            if last_block != *block {
                let (from, to) = if *is_added {
                    (*left_out, "these rules")
                } else {
                    ("its rules", *left_out)
                };
                rows.push(ChangeRow {
                    field: (*name).to_owned(),
                    before: Some(from.to_owned()),
                    after: to.to_owned(),
                    meaning: None,
                });
            }
            if *is_added {
                rows.push(row);
            }
            last_block = *block;
            continue;
        }
        row.before = Some(value(before));
        row.meaning = meaning.clone().filter(|_| said != meaning.as_ref());
        rows.push(row);
        said = meaning.as_ref();
    }
    rows
}

pub(crate) fn rows_of_new(differences: &[FieldChange], campaign: &Campaign) -> Vec<ChangeRow> {
    let row = |FieldChange { field, after, .. }: &FieldChange| ChangeRow {
        field: field.clone(),
        before: None,
        after: in_words(field, after, "", campaign),
        meaning: None,
    };
    differences.iter().map(row).collect()
}

fn in_words(field: &str, value: &Value, left_out: &str, campaign: &Campaign) -> String {
    match value {
        Value::Null => left_out.to_owned(),
        Value::String(text) => match text.parse() {
            Ok(at) if field.starts_with("window.") => zoned_time(at, campaign.timezone),
            Ok(_) | Err(_) => printable(text),
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            printable(&value.to_string())
        }
    }
}

/// Hides the same as `ops campaign show`.
fn shown(path: &str, value: Option<Value>) -> Value {
    match value {
        None => Value::Null,
        Some(Value::String(url)) if path == "partner.url" => match url.split_once('?') {
            Some((url, _query)) => Value::String(format!("{url}?{HIDDEN}")),
            None => Value::String(url),
        },
        Some(_) if path.starts_with("partner.headers.") || path == "partner.body" => {
            Value::String(HIDDEN.to_owned())
        }
        Some(value) => value,
    }
}
