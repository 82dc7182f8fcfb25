//! The pages of test mode, limits and changes.

use maud::{Markup, html};

use super::Source;
use super::text::line;
use crate::description::tables::{self, Table};

pub(super) fn sentinels(_source: &Source<'_>) -> Markup {
    html! {
        h1 { "Test mode" }
        p.lead { "A key that begins with " code { "svc_test_" } " works everywhere, production included. It sees its own submissions, receipts and "
            "limits alone, and never reaches a partner or the tax authority." }
        (table(&tables::test_codes()))
        (table(&tables::test_receipts()))
        (table(&tables::message_keys()))
    }
}

pub(super) fn limits(source: &Source<'_>) -> Markup {
    html! {
        h1 { "Limits" }
        p.lead { "What is counted, and how a reply says what is left." }
        (table(&tables::limits()))
        h2 id="headers" { "RateLimit headers" }
        p { "Replies that were counted carry them, as the IETF draft on RateLimit header fields has them:" }
        (super::sample::command("", "RateLimit-Policy: \"key\";q=600;w=60, \"address\";q=30;w=600\nRateLimit: \"key\";r=597;t=42, \"address\";r=29;t=600"))
        @for name in ["RateLimit-Policy", "RateLimit", "Retry-After"] {
            p { code { (name) } ": " (line(super::text_of(source.part(&format!("/components/headers/{name}")), "description"))) }
        }
        p { "What is left of a key is right as long as one server answers you. Several servers share a key's ceiling by taking "
            "requests in blocks that shrink as the ceiling nears; each knows what was left when it last took one. The ceiling itself is never passed." }
        p { "Look-ups name their limits, and say what is left of the phone's and the address range's once these have filled up." }
    }
}

pub(super) fn changes(_source: &Source<'_>) -> Markup {
    html! {
        h1 { "Changes" }
        p.lead { "Within v1, changes only add: fields, message keys, error codes, values. Nothing is renamed, removed or narrowed." }
        h2 id="rules" { "Write your code so that it lasts" }
        ul {
            li { "Ignore fields that you do not know." }
            li { "Show " code { "message" } " for a message key that you do not know." }
            li { "Go by the status for an error code that you do not know." }
            li { "Never branch on " code { "upstream" } ": those are a partner's own words." }
        }
        h2 id="v1.0.0" { "1.0.0" }
        p { "The first version: eight operations, campaigns with codes of the service, of a partner, and of receipts." }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        h2 id=(table.name) { a href={ "#" (table.name) } { (table.title) } }
        p { (line(table.text)) }
        div.wide tabindex="0" role="group" aria-label=(table.title) {
            table {
                thead { tr { @for head in &table.head { th scope="col" { (head) } } } }
                tbody { @for row in &table.rows { tr { @for cell in row { td { (line(cell)) } } } } }
            }
        }
    }
}
