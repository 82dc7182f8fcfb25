use chrono::Datelike;
use common::domain::message::Language;
use maud::{DOCTYPE, Markup, html};

use super::photo_name;
use crate::prelude::*;

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:46em;margin:2em auto;padding:0 1em}section{border-top:1px solid #ccc}\
    [lang=en]{color:#555}dt{font-weight:600}dd{margin:0 0 .4em}img{max-width:100%;max-height:30em}";
const CHANCES: [&str; 2] = ["Nafasi za kushinda", "Chances in the draw"];
const MONTHS: [[&str; 2]; 12] = [
    ["Januari", "January"],
    ["Februari", "February"],
    ["Machi", "March"],
    ["Aprili", "April"],
    ["Mei", "May"],
    ["Juni", "June"],
    ["Julai", "July"],
    ["Agosti", "August"],
    ["Septemba", "September"],
    ["Oktoba", "October"],
    ["Novemba", "November"],
    ["Desemba", "December"],
];

/// Refers to the photos beside it.
pub(super) fn page(phone: &Phone, held: &[PersonRecords], now: Timestamp) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="sw" {
            head {
                meta charset="utf-8";
                title { "Taarifa binafsi / Personal data" }
                style { (STYLE) }
            }
            body {
                h1 { (both(["Taarifa binafsi za namba", "Personal data of the number"])) " " (phone.expose_e164()) }
                p {
                    (both([
                        "Haya ndiyo tunayohifadhi kuhusu namba hii ya simu. Kila kitu, kwa ajili ya kompyuta, kiko katika faili person.json.",
                        "This is what we hold on this phone number. Everything, for computers, is in the file person.json.",
                    ]))
                }
                p { (day(now, Tz::Africa__Dar_es_Salaam)) }
                @for held in held { (campaign(held)) }
            }
        }
    };
    page.into_string()
}

fn campaign(held: &PersonRecords) -> Markup {
    html! {
        h2 { (visible(&held.campaign.name)) @if !held.scope.environment.is_live() { " (jaribio / test)" } }
        dl {
            (row(["Ushiriki uliohesabiwa", "Entries that count towards the limits"], html! { (held.entrant.total) }))
            (row(CHANCES, html! { (held.entrant.entries) }))
            @if held.entrant.blocked { (row(["Imezuiwa", "Blocked"], both(["ndiyo", "yes"]))) }
            @if let Some(at) = held.entrant.erased_at {
                (row(["Ilifutwa", "Erased"], day(at, held.campaign.timezone)))
            }
        }
        @for (submission, receipt) in &held.submissions { (entry(held, submission, receipt.as_ref())) }
        @for contact in &held.contacts {
            (winner(held, ["Droo", "Draw"], &contact.prize, &contact.log, [
                "Zawadi ilienda kwa mwingine",
                "The prize went to the next in the order",
            ]))
        }
        @for win in &held.wins {
            (winner(held, ["Zawadi ya papo kwa hapo", "Instant prize"], &win.prize, &win.log, [
                "Zawadi haikutolewa",
                "The prize was not given",
            ]))
        }
    }
}

fn entry(held: &PersonRecords, submission: &Submission, receipt: Option<&Receipt>) -> Markup {
    let (campaign, status) = (&held.campaign, &submission.status);
    let told = [Language::Sw, Language::En]
        .map(|language| campaign.messages.text(status.message_key(), language));
    html! {
        section {
            h3 { (day(submission.created_at, campaign.timezone)) " · " (submission.reference()) }
            dl {
                (row(["Kilichotumwa", "What was sent"], sent(submission, receipt)))
                (row(["Kilichotokea", "What happened"], both(told)))
                @if status.entries() > 0 { (row(CHANCES, html! { (status.entries()) })) }
                @if let Some(prize) = status.instant_win() { (row(["Zawadi", "Prize"], html! { (visible(prize)) })) }
                @if let Some(consent) = &submission.consent {
                    (row(["Ridhaa", "Consent"], html! {
                        (visible(consent.version.as_deref().unwrap_or_default())) " "
                        @match consent.language {
                            Language::Sw => (both(["Kiswahili", "Swahili"])),
                            Language::En => (both(["Kiingereza", "English"])),
                        }
                    }))
                }
            }
            @if let Some(name) = receipt.and_then(photo_name) { img src=(name) alt="Risiti / Receipt"; }
        }
    }
}

/// Input besides code and consent: codes are not kept.
fn sent(submission: &Submission, receipt: Option<&Receipt>) -> Markup {
    html! {
        @match receipt.map(|receipt| &receipt.source) {
            Some(Source::Typed { code, time }) => {
                (both(["Risiti", "Receipt"])) ": " (visible(code)) " " (time.expose())
            }
            Some(Source::Photo { .. }) => (both(["Picha ya risiti", "Photo of a receipt"])),
            None => (both(["Namba iliyo kwenye bidhaa", "Code on the product"])),
        }
        @if let Some(region) = &submission.region { br; (both(["Mkoa", "Region"])) ": " (visible(region)) }
        @if let Some(channel) = submission.channel { br; (both(["Njia", "Channel"])) ": " (channel) }
        @if let Some(claimed) = &submission.claimed {
            @for item in &claimed.items { br; (item.qty) " x " (visible(&item.key)) }
            @if let Some(branch) = &claimed.branch { br; (both(["Tawi", "Branch"])) ": " (visible(branch)) }
        }
    }
}

fn winner(
    held: &PersonRecords,
    kind: [&str; 2],
    prize: &str,
    log: &ContactLog,
    lost: [&'static str; 2],
) -> Markup {
    let words = |event: &ContactEvent| match event {
        ContactEvent::Drawn => ["Ilichaguliwa kwa kura", "Drawn"],
        ContactEvent::NoAnswer => ["Ilipigiwa, hakukuwa na jibu", "Called, no answer"],
        ContactEvent::Reached => ["Ilipigiwa na kujibu", "Called and reached"],
        ContactEvent::Identified => ["Kitambulisho kilionyeshwa", "An identity card was shown"],
        ContactEvent::HandedOver => ["Zawadi ilikabidhiwa", "The prize was handed over"],
        ContactEvent::Skipped { .. } => lost,
    };
    html! {
        section {
            h3 { (both(kind)) ": " (visible(prize)) }
            dl {
                @for step in &log.steps {
                    dt { (day(step.at, held.campaign.timezone)) }
                    dd { (both(words(&step.event))) }
                }
            }
        }
    }
}

fn row(name: [&str; 2], value: Markup) -> Markup {
    html! { dt { (both(name)) } dd { (value) } }
}

fn both([swahili, english]: [&str; 2]) -> Markup {
    html! { (visible(swahili)) " / " span lang="en" { (visible(english)) } }
}

fn day(at: Timestamp, zone: Tz) -> Markup {
    let at = at.in_zone(zone);
    let month = usize::try_from(at.month0())
        .ok()
        .and_then(|month| MONTHS.get(month));
    let names = month.copied().unwrap_or_default();
    let [swahili, english] = names.map(|month| format!("{} {month} {}", at.day(), at.year()));
    html! { (both([&swahili, &english])) ", " (at.format("%H:%M").to_string()) }
}
