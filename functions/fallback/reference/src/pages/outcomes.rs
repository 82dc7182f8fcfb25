//! The page of outcomes for consumers: message keys, states, and how they relate.

use super::document::{Block, Document};
use super::objects::of_page;
use super::{Source, table};
use crate::tables;

pub(super) fn page(source: &Source<'_>) -> Document {
    let mut blocks = table(&tables::message_keys(source.schema("MessageKey")));
    blocks.extend(of_page(source, "/docs/outcomes"));
    blocks.extend(table(&tables::display_statuses()));
    blocks.extend(table(&tables::transitions()));
    blocks.extend(table(&tables::reasons()));
    blocks.push(Block::section("order", "Which outcome decides"));
    blocks.push(Block::Paragraph(
        "The first that applies: an earlier submission of the same code and phone (`replayed: true`), the campaign's status, \
         `blocked`, `rate_limited`, the code (`invalid`, `already_used`, `code_held`), `daily_limit`, `entry_limit`. \
         Then the receipt or the partner decides. A rejected submission is recorded too: it has an id and a `ref`, and \
         its Idempotency-Key returns it. It uses up neither code nor receipt nor limit."
            .to_owned(),
    ));
    Document {
        title: "Outcomes and states".to_owned(),
        lead: "What happens to a consumer is never an error: the reply is 200 with a Submission. Branch on `message_key`, \
               show `message`, and use `display_status` for lists."
            .to_owned(),
        blocks,
    }
}
