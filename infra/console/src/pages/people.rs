//! A person's data: finding, handing over, erasing.

use std::fs::File;
use std::io::Read;

use axum::body::Body;
use futures_util::stream;
use ops_core::people::{self, PersonRecords};

use crate::layout::scope;
use crate::prelude::*;

const ERASE: &str = "erase";

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route("/people", get(ask).post(find))
        .route("/people/export", post(export))
        .route("/people/erase", post(erase))
}

async fn ask() -> Html<String> {
    render(html! {})
}

fn render(found: Markup) -> Html<String> {
    let content = html! {
        form method="post" action="/people" {
            label for="phone" { "Phone number" }
            input #phone name="phone" type="tel" required autocomplete="off" placeholder="0712 345 678";
            p { button { "Find" } }
        }
        (found)
    };
    Page::new("People", Section::People).render(content)
}

fn phone_of(form: &Form) -> Result<Phone, Failure> {
    let no_phone = |_| {
        failure!(
            "phone_invalid",
            "this is not a Tanzanian mobile number, such as 0712 345 678"
        )
    };
    form.get("phone").parse().map_err(no_phone)
}

async fn find(console: Console, form: Form) -> PageResult {
    let phone = phone_of(&form)?;
    let held = people::find(&console.tables()?, &phone, console.now()).await?;
    Ok(render(html! {
        h2 { "What is held on " (phone.masked()) }
        @if held.is_empty() {
            p role="status" { "Nothing." }
        } @else {
            (held_table(&held))
            (actions(&phone, &held))
        }
    }))
}

fn held_table(held: &[PersonRecords]) -> Markup {
    let rows = html! {
        @for held in held {
            tr {
                td { (scope(&held.scope)) }
                td { (held.submissions.len()) }
                td { (held.unsettled().count()) }
                td { (held.photos().count()) }
                td { @if held.entrant.blocked { "yes" } @else { "no" } }
                td { (held.entrant.total) @if held.is_erased() { ", the person is erased" } }
            }
        }
    };
    let heading = [
        "Campaign",
        "Submissions",
        "Unsettled",
        "Photos",
        "Blocked",
        "Counted",
    ];
    table("What is held", &heading, rows)
}

fn actions(phone: &Phone, held: &[PersonRecords]) -> Markup {
    let number = hidden("phone", phone.expose_e164());
    let open: usize = held.iter().map(|held| held.unsettled().count()).sum();
    html! {
        h2 { "Hand it over" }
        form method="post" action="/people/export" data-download {
            (number)
            p { "A ZIP file with everything, photos too. It is recorded in the audit log." }
            button { "Download" }
        }
        h2 { "Erase the person" }
        @if open > 0 {
            p { "Not possible yet: " (open) " submissions are not settled, and need the phone. Settle them first." }
        } @else {
            (typed_form("/people/erase", ERASE, "Erase", html! {
                (number)
                p { (people::erasure_in_words(held)) }
                (text_field("why", "Reason and order, for the record"))
            }))
        }
    }
}

async fn export(console: Console, form: Form) -> PageResult<Response> {
    let (phone, tables, now) = (phone_of(&form)?, console.tables()?, console.now());
    let held = people::find(&tables, &phone, now).await?;
    let file = people::export_unnamed(&tables, &phone, &held, now).await?;
    let body = Body::from_stream(stream::iter(chunks(file)));
    Ok(download("person.zip", ZIP, body))
}

fn chunks(mut file: File) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    const CHUNK_BYTES: u64 = 64 * 1024;
    std::iter::from_fn(move || {
        let mut chunk = Vec::new();
        let read = file.by_ref().take(CHUNK_BYTES).read_to_end(&mut chunk);
        read.map(|bytes| (bytes > 0).then_some(chunk)).transpose()
    })
}

async fn erase(console: Console, form: Form) -> PageResult {
    let (phone, tables, now) = (phone_of(&form)?, console.tables()?, console.now());
    check_typed(&form, ERASE)?;
    let mut held = people::find(&tables, &phone, now).await?;
    held.retain(|held| !held.is_erased());
    if held.is_empty() {
        return Ok(render(
            html! { p role="status" { "Nothing is held on " (phone.masked()) ", so nothing was erased." } },
        ));
    }
    people::erase_all(&tables, &held, form.get("why"), now).await?;
    let scopes = joined(held.iter().map(|held| &held.scope));
    Ok(render(
        html! { p.good role="status" { (phone.masked()) " is erased from " (scopes) "." } },
    ))
}
