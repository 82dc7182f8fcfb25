//! The API keys of a campaign's environment: issued, rolled, revoked, and their limits.

use std::ops::RangeInclusive;

use common::app::auth::DEFAULT_PER_MINUTE;
use common::config::Stage;
use common::store::api_keys::ApiKeyRecord;
use ops_core::keys::{self, IssuedKey, OLD_KEY_HOURS, PER_MINUTE, RolledKey, VALID_HOURS};

use crate::once::mark;
use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    let path = |end: &str| format!("/campaigns/{{campaign}}/{{environment}}/keys{end}");
    Router::new()
        .route(&path(""), get(list).post(issue))
        .route(&path("/change"), get(change))
        .route(&path("/limit"), post(set_limit))
        .route(&path("/roll"), post(roll))
        .route(&path("/revoke"), post(revoke))
}

fn path(scope: &Scope) -> String {
    format!("{}/keys", path_of(scope))
}

async fn list(console: Console, Named(scope): Named<Scope>) -> PageResult {
    page(&console, &scope, html! {}).await
}

async fn page(console: &Console, scope: &Scope, told: Markup) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let is_operator = console.has(Role::Operator).await?;
    let zone = tables.zone(scope).await?;
    let mut listed = tables.api_keys.list(&scope.campaign).await?;
    listed.retain(|key| key.scope == *scope);
    let rows = html! { @for key in &listed { (row(scope, key, is_operator, zone, now)) } };
    let heading = [
        "Key id",
        "Label",
        "Per minute",
        &format!("Created ({})", zone.name()),
        "Status",
        "Action",
    ];
    let content = html! {
        (told)
        @if listed.is_empty() {
            p { "There are no keys yet. The brand's server sends one with each request." }
        } @else {
            (table("Keys", &heading, rows))
            p.soft { "The id is not the key: a key is shown only once, when it is made." }
        }
        h2 { "Issue a key" }
        (with_role(is_operator, "Issuing a key", Role::Operator, issue_form(scope)))
    };
    Ok(Page::new("Keys", Section::Keys)
        .in_scope(scope)
        .render(content))
}

async fn page_with_key(console: &Console, scope: &Scope, told: Markup) -> Html<String> {
    let shown = page(console, scope, told.clone()).await;
    Page::new("Keys", Section::Keys)
        .in_scope(scope)
        .or_told(shown, told)
}

fn row(scope: &Scope, key: &ApiKeyRecord, is_operator: bool, zone: Tz, now: Timestamp) -> Markup {
    let change = with_query(&format!("{}/change", path(scope)), &[("key", &key.key_id)]);
    html! {
        tr {
            td { code { (key.key_id) } }
            td { (or_dash(key.label.as_ref())) }
            td { (grouped(key.per_minute)) }
            td { (local_time(key.created_at, zone)) }
            td { (standing(key, zone, now)) }
            td { @if is_operator && !key.is_revoked(now) { a href=(change) { "Change" span.unseen { " " (key.key_id) } "…" } } }
        }
    }
}

fn standing(key: &ApiKeyRecord, zone: Tz, now: Timestamp) -> Markup {
    match (key.revoked_at, key.valid_until) {
        (Some(at), _) => html! { (pill("over", "revoked")) " " (local_time(at, zone)) },
        (None, Some(until)) if until <= now => {
            html! { (pill("over", "ended")) " " (local_time(until, zone)) }
        }
        (None, Some(until)) => {
            html! { (pill("paused", "works")) " until " (local_time(until, zone)) }
        }
        (None, None) => pill("good", "works"),
    }
}

fn issue_form(scope: &Scope) -> Markup {
    html! {
        form method="post" action=(path(scope)) {
            (mark())
            label for="label" { "Label, such as the caller's name" }
            input #label name="label" maxlength="100" autocomplete="off";
            (number_field("per_minute", "Requests a minute", &PER_MINUTE, &DEFAULT_PER_MINUTE.to_string(), true))
            (number_field("valid_for", "Hours that it works; empty: until it is revoked", &VALID_HOURS, "", false))
            p { button { "Issue" } }
        }
    }
}

fn number_field(
    name: &str,
    label: &str,
    range: &RangeInclusive<i64>,
    value: &str,
    is_required: bool,
) -> Markup {
    html! {
        label for=(name) { (label) }
        input.short id=(name) name=(name) type="number" min=(range.start()) max=(range.end()) value=(value) required[is_required];
    }
}

fn number_of<T: TryFrom<i64>>(
    form: &Form,
    name: &str,
    range: &RangeInclusive<i64>,
) -> Result<T, Failure> {
    let given = form.get(name).parse().ok();
    given
        .filter(|given| range.contains(given))
        .and_then(|given| T::try_from(given).ok())
        .ok_or_else(|| {
            failure!(
                "number_invalid",
                "{} is a whole number from {} to {}",
                name.replace('_', " "),
                range.start(),
                range.end()
            )
        })
}

fn hours(hours: u64) -> Duration {
    Duration::from_hours(hours)
}

async fn issue(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let label = Some(form.get("label")).filter(|label| !label.is_empty());
    let label = label.map(keys::validate_label).transpose()?;
    let per_minute = number_of(&form, "per_minute", &PER_MINUTE)?;
    let valid_for = match form.get("valid_for") {
        "" => None,
        _ => Some(hours(number_of(&form, "valid_for", &VALID_HOURS)?)),
    };
    let (tables, now) = (console.tables()?, console.now());
    let issue = async { keys::issue(&tables, &scope, label, per_minute, valid_for, now).await };
    let issued = console.sent_forms.once(&form, issue).await?;
    let told = shown_once(&console, &issued, html! {});
    Ok(page_with_key(&console, &scope, told).await)
}

fn shown_once(console: &Console, issued: &IssuedKey, more: Markup) -> Markup {
    let record = &issued.record;
    let is_staging = matches!(Stage::from_env(&console.env), Ok(Stage::Staging));
    html! {
        p.good role="status" { "The key " (record.key_id) ". It is shown only now: store it on the caller's server." }
        p.row { code #issued.whole-word { (issued.key) } button type="button" hidden data-copy="issued" { "Copy" } }
        @if let Some(until) = record.valid_until {
            p { "It works until " (zoned_time(until, issued.zone)) ", and is refused as revoked from then on." }
        }
        (more)
        @if is_staging && record.scope.environment.is_live() { p.bad { (keys::USELESS_ON_STAGING) } }
    }
}

/// A key of this page's scope: ids are unique over all campaigns.
async fn found(tables: &Tables, scope: &Scope, key_id: &str) -> Result<ApiKeyRecord, Failure> {
    let key = keys::find(tables, key_id).await?;
    if key.scope != *scope {
        bail!("key_unknown", "there is no key with this id here");
    }
    Ok(key)
}

async fn change(console: Console, Named(scope): Named<Scope>, Query(query): Query) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let zone = tables.zone(&scope).await?;
    let key = found(&tables, &scope, query.get("key")).await?;
    let id = key.key_id.as_str();
    let action = |name: &str| format!("{}/{name}", path(&scope));
    let forms = html! {
        h2 { "Limit" }
        form method="post" action=(action("limit")) {
            (hidden("key", id))
            (mark())
            (number_field("per_minute", "Requests a minute", &PER_MINUTE, &key.per_minute.to_string(), true))
            p { button { "Set the limit" } }
        }
        @if key.valid_until.is_none() {
            h2 { "Replace it" }
            form method="post" action=(action("roll")) {
                (hidden("key", id))
                (mark())
                p { "A new key with the same label and limit is shown once; meanwhile the old one works on." }
                (number_field("hours", "Hours that the old key still works", &OLD_KEY_HOURS, "24", true))
                p { button { "Replace the key" } }
            }
        }
        h2 { "Revoke it" }
        p { "Calls with it are refused within 5 seconds." }
        (typed_form(&action("revoke"), id, "Revoke the key", hidden("key", id)))
    };
    let content = html! {
        (facts(&[
            ("Label", html! { (or_dash(key.label.as_ref())) }),
            ("Status", standing(&key, zone, now)),
            ("Environment", environment(scope.environment)),
        ]))
        @if key.is_revoked(now) {
            p { "It works no more, so nothing can be changed." }
        } @else {
            (with_role(console.has(Role::Operator).await?, "Changing a key", Role::Operator, forms))
        }
        p { a href=(path(&scope)) { "All keys" } }
    };
    let title = format!("Key {id}");
    Ok(Page::new(&title, Section::Keys)
        .in_scope(&scope)
        .render(content))
}

async fn set_limit(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let per_minute = number_of(&form, "per_minute", &PER_MINUTE)?;
    let tables = console.tables()?;
    let key = found(&tables, &scope, form.get("key")).await?;
    let set = keys::set_per_minute(&tables, &key.key_id, per_minute, console.now());
    let changed = console.sent_forms.once(&form, set).await?;
    let told = html! { p.good role="status" { (keys::limit_in_words(&changed)) "." } };
    page(&console, &scope, told).await
}

async fn roll(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let old_valid_for = hours(number_of(&form, "hours", &OLD_KEY_HOURS)?);
    let (tables, now) = (console.tables()?, console.now());
    let key = found(&tables, &scope, form.get("key")).await?;
    let roll = async { keys::roll(&tables, &key.key_id, old_valid_for, now).await };
    let RolledKey { new, old } = console.sent_forms.once(&form, roll).await?;
    let until = or_dash(old.valid_until.map(|until| zoned_time(until, new.zone)));
    let more = html! { p { "The old key " (old.key_id) " works until " (until) "." } };
    let told = shown_once(&console, &new, more);
    Ok(page_with_key(&console, &scope, told).await)
}

async fn revoke(console: Console, Named(scope): Named<Scope>, form: Form) -> PageResult {
    let tables = console.tables()?;
    let key = found(&tables, &scope, form.get("key")).await?;
    check_typed(&form, &key.key_id)?;
    let said = if key.revoked_at.is_some() {
        "It was revoked before; nothing changes."
    } else {
        keys::revoke(&tables, &key.key_id, console.now()).await?;
        "It is revoked; callers see it within 5 seconds."
    };
    page(&console, &scope, html! { p.good role="status" { (said) } }).await
}
