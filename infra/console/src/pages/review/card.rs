//! A submission under review: its photo beside everything known.

use common::domain::message::{Language, MessageKey, MessageOverrides};
use common::domain::receipt::checks::{Check, CheckResult};
use common::domain::receipt::judgement::{ReceiptSummary, Rule};
use common::domain::receipt::rules::ReceiptRules;
use common::domain::settling::Assignee;
use common::domain::submission::DeclaredItem;
use common::domain::submission::approval::Acceptance;
use ops_core::review::lookup::can_look_up;
use ops_core::review::related::{RelatedSubmission, Relation};
use ops_core::settle::usual_entries;
use ops_core::submissions::view::partner_progress;

use super::{REASONS, waiting, words};
use crate::prelude::*;

/// A time as people type it; the server decides.
const TIME_PATTERN: &str = r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?";

/// A receipt's code as people type it; the server decides.
const CODE_PATTERN: &str = r"[\s\p{Pd}]*([A-Za-z0-9][\s\p{Pd}]*){6,40}";

/// A campaign may have hundreds.
const MAX_NAMED: usize = 12;

pub(super) fn card(item: &ReviewItem, screen: &str, now: Timestamp) -> Markup {
    let ReviewItem {
        submission,
        campaign,
        is_spot_check,
        ..
    } = item;
    let id = submission.submission_id;
    let is_direct = !needs_code(item) && usual_entries(campaign, submission).is_some();
    html! {
        article.card hidden data-id=(id) data-ref=(submission.reference()) data-revision=(submission.revision) data-second-look=(is_spot_check)
            data-direct=[is_direct.then_some("yes")] aria-labelledby={ "title-" (id) } {
            figure.photo tabindex="0" aria-label="Photo of the receipt" { (photo(item, screen)) }
            div.facts-of-card {
                h2 id={ "title-" (id) } tabindex="-1" {
                    (submission.reference()) " " (environment(submission.scope.environment))
                    @if *is_spot_check { " " (pill("paused", "second look")) }
                }
                p.soft {
                    "Sent " (zoned_time(submission.created_at, campaign.timezone)) ", " (span_in_words(now.since(submission.sent_at()))) " ago"
                    @if let Some(region) = &submission.region { " from " (region) }
                    @if let Some(channel) = submission.channel { " by " (channel) }
                    " · " a href={ (path_of(&submission.scope)) "/review?id=" (id) } { "link to it" }
                }
                @if *is_spot_check {
                    p { "It is decided already. Your answer changes nothing: it is compared with the decision, which is not shown." }
                }
                @if !*is_spot_check { (at_stake(submission, campaign, item.prize.as_deref())) }
                (partner(submission))
                (answers(item))
                (accept_form(item))
                (compared(item))
                (checked(item))
                (related_submissions(item))
            }
        }
    }
}

/// The prize, and the first of two people who have to accept.
fn at_stake(submission: &Submission, campaign: &Campaign, prize: Option<&str>) -> Markup {
    html! {
        @if prize.is_some() || submission.first_acceptance().is_some() {
            p.good {
                @if let Some(prize) = prize { "Accepting it gives the instant prize “" (prize) "”, so two people have to accept it. " }
                @if let Some((Acceptance { entries, purchase }, decision)) = submission.first_acceptance() {
                    (decision.by) " accepted it at " (zoned_time(decision.at, campaign.timezone)) ", with " (entries_in_words(*entries))
                    @if submission.receipt_id.is_some() && purchase.is_none() { " and without the receipt's code" }
                    ". Accept it with the same entries and code, or it waits for one more person. A rejection needs no second person."
                }
            }
        }
    }
}

fn photo(item: &ReviewItem, screen: &str) -> Markup {
    let id = item.submission.submission_id;
    let path = path_of(&item.submission.scope);
    html! {
        @match (&item.photo, &item.receipt) {
            (Some(ShownPhoto::Copy(_)), _) => {
                img src={ (path) "/review/photo/" (screen) "/" (id) } alt={ "Receipt of " (item.submission.reference()) };
            }
            (Some(ShownPhoto::Nothing(why)), _) => p.placeholder { (why) },
            (None, Some(_)) => p.placeholder { "The receipt was typed; there is no photo." },
            (None, None) => p.placeholder { "It came without a receipt." },
        }
    }
}

fn partner(submission: &Submission) -> Markup {
    html! {
        @if let Some(progress) = partner_progress(submission) {
            p {
                "The partner did not answer, asked " (progress.attempts) " times. "
                @if progress.maybe_redeemed {
                    "It may have redeemed the code: ask it about the id " code { (submission.submission_id) } " before you decide. " code { "ops submission settle" } " rejects."
                }
            }
        }
    }
}

/// One key must not reject what the partner may have redeemed.
fn answers(item: &ReviewItem) -> Markup {
    let progress = partner_progress(&item.submission);
    let is_maybe_redeemed = progress.is_some_and(|progress| progress.maybe_redeemed);
    html! {
        div.answers role="group" aria-label="Answers" {
            (answer(item, 'a', "Accept", MessageKey::Entered))
            @for (key, reason) in REASONS.into_iter().filter(|_| !is_maybe_redeemed) {
                (answer(item, key, &words(reason.as_str()), reason))
            }
            button.quiet type="button" data-key="s" { "Skip " kbd { "s" } }
        }
    }
}

/// A button with the text that the consumer will read; its title has the other language's.
fn answer(item: &ReviewItem, key: char, name: &str, message: MessageKey) -> Markup {
    let messages = &item.campaign.messages;
    let language = first_language(messages);
    let reason = message.rejects().then_some(message);
    html! {
        button.danger[reason.is_some()] type="button" data-key=(key) data-reason=[reason] title=(messages.text(message, other(language))) {
            span { (name) " " kbd { (key) } }
            small lang=(language) { (messages.text(message, language)) }
        }
    }
}

/// The only one with texts of the campaign's own, otherwise English.
fn first_language(messages: &MessageOverrides) -> Language {
    if messages.en.is_empty() && !messages.sw.is_empty() {
        Language::Sw
    } else {
        Language::En
    }
}

fn other(language: Language) -> Language {
    match language {
        Language::En => Language::Sw,
        Language::Sw => Language::En,
    }
}

/// True without a record: the typed code then makes the receipt count once.
fn needs_code(item: &ReviewItem) -> bool {
    !item.is_spot_check && item.record().is_none() && item.submission.receipt_id.is_some()
}

fn accept_form(item: &ReviewItem) -> Markup {
    let ReviewItem {
        submission,
        campaign,
        ..
    } = item;
    let needs_code = needs_code(item);
    let code = item.code();
    html! {
        form.accepting hidden novalidate aria-label="Accept" {
            @if submission.receipt_id.is_some() {
                label { "Verification code of the receipt"
                    input name="code" value=[code.as_ref().map(|code| code.as_str())] required[needs_code] pattern=(CODE_PATTERN)
                        autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="60";
                }
                @if needs_code && can_look_up(submission) {
                    label { "Time on the receipt"
                        input name="time" value=[item.read().and_then(|read| read.time).map(|time| time.expose())] pattern=(TIME_PATTERN)
                            placeholder="14:05:33" inputmode="numeric" autocomplete="off" maxlength="8";
                    }
                    label.inline { input name="untimed" type="checkbox" value="yes"; " The time cannot be read: accept without asking the tax authority" }
                    p.soft { "With code and time, " kbd { "Enter" } " asks the tax authority first." }
                    div.looked role="status" {}
                }
                @if needs_code {
                    label.inline { input name="without" type="checkbox" value="yes"; " The code cannot be read: accept without it" }
                }
            }
            label { "Entries"
                input name="entries" value=[usual_entries(campaign, submission)] inputmode="numeric" pattern="[0-9]{1,6}" required autocomplete="off";
            }
            p.missing role="alert" {}
            p.row {
                button { "Accept " kbd { "Enter" } }
                button.quiet type="button" data-close { "Back " kbd { "Esc" } }
            }
        }
    }
}

fn compared(item: &ReviewItem) -> Markup {
    let none = ReceiptSummary {
        date: None,
        branch: None,
        items_summary: None,
        counted_entries: None,
    };
    let record = item.submission.receipt.as_ref().unwrap_or(&none);
    html! {
        h3 { "Compare" }
        div.wide tabindex="0" role="region" aria-label="Compare" {
            table.compared {
                thead { tr { th scope="col" { span.unseen { "What" } } th scope="col" { "Sent by the consumer" } th scope="col" { "Tax record" } th scope="col" { "Campaign" } } }
                tbody {
                    (code_line(item))
                    (line("Day", None, record.date.clone(), &days(&item.campaign), false))
                    (shop_line(item, record))
                    (products_line(item, record))
                    (entries_line(&item.campaign, record))
                }
            }
        }
        @if item.submission.receipt.is_none() { p.soft { "The service has no tax record of this receipt." } }
    }
}

/// `differs` marks a mismatch of input and record.
fn line(
    what: &str,
    claimed: Option<String>,
    record: Option<String>,
    wanted: &str,
    differs: bool,
) -> Markup {
    html! {
        tr {
            th scope="row" { (what) @if differs { " " (pill("bad", "differs")) } }
            @for text in [claimed, record] {
                td {
                    @match text {
                        Some(text) if differs => mark { (text) },
                        Some(text) => (text),
                        None => span.soft { "–" },
                    }
                }
            }
            td { (wanted) }
        }
    }
}

fn code_line(item: &ReviewItem) -> Markup {
    let (read, record) = (item.read(), item.record());
    let differs = matches!((&read, record), (Some(read), Some(record)) if read.code != *record);
    let claimed = read.map(|key| match key.time {
        Some(time) => format!("{} at {}", key.code.as_str(), time.expose()),
        None => key.code.as_str().to_owned(),
    });
    let record = record.map(|code| code.as_str().to_owned());
    line("Code", claimed, record, "once", differs)
}

fn days(campaign: &Campaign) -> String {
    let day = |at: Timestamp| at.day_in(campaign.timezone);
    let (start, end) = (campaign.window.start.map(day), campaign.window.end.map(day));
    match (start, end) {
        (Some(start), Some(end)) => format!("{start} to {end}"),
        (Some(start), None) => format!("from {start}"),
        (None, Some(end)) => format!("to {end}"),
        (None, None) => "any day".to_owned(),
    }
}

fn shop_line(item: &ReviewItem, record: &ReceiptSummary) -> Markup {
    let rules = item.campaign.receipt.as_ref();
    let branches = rules.map_or(&[][..], |rules| &rules.branches);
    let name = |key: &String| {
        let known = branches.iter().find(|branch| branch.key == *key);
        known.map_or(key, |branch| &branch.name).clone()
    };
    let claimed = item.submission.claimed.as_ref();
    let claimed = claimed.and_then(|claimed| claimed.branch.as_ref());
    let record = record.branch.as_ref();
    let differs = claimed.is_some() && record.is_some() && claimed != record;
    let wanted = named(branches.iter().map(|branch| &branch.name), "any shop");
    line(
        "Shop",
        claimed.map(name),
        record.map(name),
        &wanted,
        differs,
    )
}

fn products_line(item: &ReviewItem, record: &ReceiptSummary) -> Markup {
    let rules = item.campaign.receipt.as_ref();
    let products = rules.map_or(&[][..], |rules| &rules.products);
    let claimed = item
        .submission
        .claimed
        .as_ref()
        .map(|claimed| &claimed.items);
    // In the judgement's words, so that both compare.
    let claimed = claimed.filter(|items| !items.is_empty()).map(|items| {
        let in_words = |item: &DeclaredItem| {
            let known = products.iter().find(|product| product.key == item.key);
            let unknown = || format!("{} (no product of the campaign)", item.key);
            let name = known.map_or_else(unknown, |product| product.name.clone());
            format!("{} x {name}", item.qty)
        };
        let mut words: Vec<_> = items.iter().map(in_words).collect();
        words.sort();
        words.join(", ")
    });
    let bought = record.items_summary.as_deref().unwrap_or_default();
    let mut bought: Vec<_> = bought.split(", ").collect();
    bought.sort_unstable();
    let differs = record.date.is_some()
        && claimed
            .as_ref()
            .is_some_and(|claimed| *claimed != bought.join(", "));
    let wanted = named(products.iter().map(|product| &product.name), "any product");
    line(
        "Products",
        claimed,
        record.items_summary.clone(),
        &wanted,
        differs,
    )
}

fn entries_line(campaign: &Campaign, record: &ReceiptSummary) -> Markup {
    let rules = campaign.receipt.as_ref();
    let most = rules.map_or(ReceiptRules::DEFAULT_MAX_ENTRIES, |rules| rules.max_entries);
    let counted = record.counted_entries.map(grouped);
    let wanted = format!("at most {}", grouped(most));
    line("Entries", None, counted, &wanted, false)
}

fn named<'a>(names: impl Iterator<Item = &'a String>, none: &str) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        none.to_owned()
    } else {
        shortened(&names, MAX_NAMED)
    }
}

fn checked(item: &ReviewItem) -> Markup {
    let submission = &item.submission;
    let anomaly = submission
        .settling
        .as_ref()
        .and_then(|settling| settling.anomaly.as_ref());
    html! {
        @if !item.checks.is_empty() {
            h3 { "What the service checked" }
            ol.checks {
                @for (check, result) in &item.checks {
                    @let (class, said) = said(*result);
                    li.(class) { span.result { (said) } " " (check_words(*check)) @if let CheckResult::Failed(reason) = result { ": " (words(reason)) } }
                }
            }
            p.soft { "Why it is here: " (submission.reasons.iter().map(|reason| words(reason)).collect::<Vec<_>>().join(", ")) @if let Some(anomaly) = anomaly { " (" (anomaly.summary) ")" } }
        }
    }
}

fn said(result: CheckResult) -> (&'static str, &'static str) {
    match result {
        CheckResult::Passed => ("passed", "passed"),
        CheckResult::Failed(_) => ("failed", "failed"),
        CheckResult::NotReached => ("open", "not checked"),
    }
}

fn check_words(check: Check) -> &'static str {
    match check {
        Check::Photo => "The file is a photo that can be read",
        Check::Code => "The code and time of one receipt are known",
        Check::Record => "The tax authority has a record of it",
        Check::Rule(Rule::Genuine) => "The receipt is not cancelled and not from training",
        Check::Rule(Rule::Window) => "The purchase is within the campaign",
        Check::Rule(Rule::Shop) => "The shop takes part",
        Check::Rule(Rule::Past) => "The purchase is before the submission",
        Check::Rule(Rule::Product) => "A product that takes part was bought",
        Check::Rule(Rule::MaxEntries) => "It earns no more entries than the campaign allows",
    }
}

/// Possible duplicates. A spot check leaves out their outcomes, which tell nothing about this one.
fn related_submissions(item: &ReviewItem) -> Markup {
    let ReviewItem {
        related,
        is_spot_check,
        campaign,
        submission: this,
        ..
    } = item;
    let is_same = |other: &&RelatedSubmission| {
        other.submission.assignee() == Some(Assignee::Operator)
            && other.relations.iter().any(|one| *one != Relation::Phone)
    };
    let same: Vec<_> = related
        .iter()
        .filter(is_same)
        .map(|other| other.submission.submission_id)
        .collect();
    let name = |relation: &Relation| match relation {
        Relation::Phone => "same phone",
        Relation::Receipt => "same receipt",
        Relation::File => "same file",
        Relation::Basket => "same basket",
    };
    html! {
        h3 { "Other submissions" }
        @if related.is_empty() { p.soft { "None of the phone, the receipt or the file." } }
        @else {
            ul.related {
                @for RelatedSubmission { submission, relations } in related {
                    li {
                        a href=(path_of_submission(submission.submission_id)) target="_blank" rel="noopener" { (submission.reference()) } " " (local_time(submission.created_at, campaign.timezone)) " "
                        @for one in relations { span.pill.bad[*one != Relation::Phone] { (name(one)) } " " }
                        @if !is_spot_check { span.soft { (submission.status.state().as_str()) ", " (submission.status.message_key()) } }
                    }
                }
            }
        }
        @if !is_spot_check {
            p {
                a href=(waiting::path_of_same(&this.scope, this.submission_id, &same, 0)) { "Waiting with the same basket" }
                @if !same.is_empty() { ", " (same.len()) " or more others" }
            }
        }
        p.soft { "Not found here, because no index has it: pending submissions of the same receipt." }
    }
}
