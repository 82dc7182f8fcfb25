//! The page for the person: each entry with its day, what was sent and what happened, in Swahili and in English.

use std::fmt::Write as _;

use chrono::{DateTime, Datelike, Timelike};
use chrono_tz::Tz;
use common::domain::draw::contact::{Contact, ContactEvent};
use common::domain::message::Language;
use common::domain::phone::Phone;
use common::domain::receipt::{Receipt, Source};
use common::domain::submission::{DeclaredItem, Submission};
use common::domain::timestamp::Timestamp;

use super::photo_name;
use crate::format::visible;
use crate::people::PersonRecords;

const HEAD: &str = "<!doctype html><html lang=\"sw\"><meta charset=\"utf-8\"><title>Taarifa binafsi / Personal data</title>\n\
    <style>body{font:15px/1.5 sans-serif;max-width:46em;margin:2em auto;padding:0 1em}section{border-top:1px solid #ccc}\
    [lang=en]{color:#555}dt{font-weight:600}dd{margin:0 0 .4em}img{max-width:100%;max-height:30em}</style>\n";
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

/// The page as HTML. It refers to the photos beside it.
pub(super) fn page(phone: &Phone, held: &[PersonRecords], now: Timestamp) -> String {
    let mut html = HEAD.to_owned();
    let number = phone.expose_e164();
    let _ = write!(
        html,
        "<h1>{} {number}</h1>\n<p>",
        both("Taarifa binafsi za namba", "Personal data of the number")
    );
    html.push_str(&both(
        "Haya ndiyo tunayohifadhi kuhusu namba hii ya simu. Kila kitu, kwa ajili ya kompyuta, kiko katika faili person.json.",
        "This is what we hold on this phone number. Everything, for computers, is in the file person.json.",
    ));
    let _ = writeln!(html, "</p><p>{}</p>", day(now, Tz::Africa__Dar_es_Salaam));
    held.iter().for_each(|held| campaign(held, &mut html));
    html
}

fn campaign(held: &PersonRecords, html: &mut String) {
    let test = if held.scope.environment.is_live() {
        ""
    } else {
        " (jaribio / test)"
    };
    let _ = writeln!(html, "<h2>{}{test}</h2><dl>", escaped(&held.campaign.name));
    let counted = format!("{}", held.entrant.total);
    row(
        html,
        [
            "Ushiriki uliohesabiwa",
            "Entries that count towards the limits",
        ],
        &counted,
    );
    row(
        html,
        ["Nafasi za kushinda", "Chances in the draw"],
        &held.entrant.entries.to_string(),
    );
    if held.entrant.blocked {
        row(html, ["Imezuiwa", "Blocked"], &both("ndiyo", "yes"));
    }
    if let Some(at) = held.entrant.erased_at {
        row(
            html,
            ["Ilifutwa", "Erased"],
            &day(at, held.campaign.timezone),
        );
    }
    html.push_str("</dl>\n");
    for (submission, receipt) in &held.submissions {
        entry(held, submission, receipt.as_ref(), html);
    }
    held.contacts
        .iter()
        .for_each(|contact| drawn(held, contact, html));
}

fn entry(
    held: &PersonRecords,
    submission: &Submission,
    receipt: Option<&Receipt>,
    html: &mut String,
) {
    let campaign = &held.campaign;
    let when = day(submission.created_at, campaign.timezone);
    let _ = writeln!(
        html,
        "<section><h3>{when} · {}</h3><dl>",
        submission.reference()
    );
    let sent = sent(submission, receipt);
    if !sent.is_empty() {
        row(html, ["Kilichotumwa", "What was sent"], &sent.join("<br>"));
    }
    let key = submission.status.message_key();
    let [swahili, english] =
        [Language::Sw, Language::En].map(|language| campaign.messages.text(key, language));
    row(
        html,
        ["Kilichotokea", "What happened"],
        &both(&escaped(swahili), &escaped(english)),
    );
    if submission.status.entries() > 0 {
        row(
            html,
            ["Nafasi za kushinda", "Chances in the draw"],
            &submission.status.entries().to_string(),
        );
    }
    if let Some(prize) = submission.status.instant_win() {
        row(html, ["Zawadi", "Prize"], &escaped(prize));
    }
    if let Some(consent) = &submission.consent {
        let version = consent.version.as_deref().map(escaped).unwrap_or_default();
        let language = match consent.language {
            Language::Sw => both("Kiswahili", "Swahili"),
            Language::En => both("Kiingereza", "English"),
        };
        row(
            html,
            ["Ridhaa", "Consent"],
            &format!("{version} {language}"),
        );
    }
    html.push_str("</dl>");
    if let Some(name) = receipt.and_then(photo_name) {
        let _ = write!(html, "<img src=\"{name}\" alt=\"Risiti / Receipt\">");
    }
    html.push_str("</section>\n");
}

/// The person's input, besides code and consent: the code itself is not kept.
fn sent(submission: &Submission, receipt: Option<&Receipt>) -> Vec<String> {
    let mut sent = Vec::new();
    match receipt.map(|receipt| &receipt.source) {
        Some(Source::Typed { code, time }) => {
            sent.push(format!(
                "{}: {} {}",
                both("Risiti", "Receipt"),
                escaped(code),
                time.expose()
            ));
        }
        Some(Source::Photo { .. }) => sent.push(both("Picha ya risiti", "Photo of a receipt")),
        None => sent.push(both("Namba iliyo kwenye bidhaa", "Code on the product")),
    }
    if let Some(region) = &submission.region {
        sent.push(format!("{}: {}", both("Mkoa", "Region"), escaped(region)));
    }
    if let Some(claimed) = &submission.claimed {
        let item = |item: &DeclaredItem| format!("{} x {}", item.qty, escaped(&item.key));
        sent.extend(claimed.items.iter().map(item));
        sent.extend(
            claimed
                .branch
                .as_ref()
                .map(|branch| format!("{}: {}", both("Tawi", "Branch"), escaped(branch))),
        );
    }
    sent
}

fn drawn(held: &PersonRecords, contact: &Contact, html: &mut String) {
    let heading = both("Droo", "Draw");
    let _ = writeln!(
        html,
        "<section><h3>{heading}: {}</h3><dl>",
        escaped(&contact.prize)
    );
    for step in &contact.steps {
        let [swahili, english] = match &step.event {
            ContactEvent::Drawn => ["Ilichaguliwa kwa kura", "Drawn"],
            ContactEvent::NoAnswer => ["Ilipigiwa, hakukuwa na jibu", "Called, no answer"],
            ContactEvent::Reached => ["Ilipigiwa na kujibu", "Called and reached"],
            ContactEvent::Identified => ["Kitambulisho kilionyeshwa", "An identity card was shown"],
            ContactEvent::HandedOver => ["Zawadi ilikabidhiwa", "The prize was handed over"],
            ContactEvent::Skipped { .. } => [
                "Zawadi ilienda kwa mwingine",
                "The prize went to the next in the order",
            ],
        };
        let _ = writeln!(
            html,
            "<dt>{}</dt><dd>{}</dd>",
            day(step.at, held.campaign.timezone),
            both(swahili, english)
        );
    }
    html.push_str("</dl></section>\n");
}

fn row(html: &mut String, [swahili, english]: [&str; 2], value: &str) {
    let _ = writeln!(html, "<dt>{}</dt><dd>{value}</dd>", both(swahili, english));
}

fn both(swahili: &str, english: &str) -> String {
    format!("{swahili} / <span lang=\"en\">{english}</span>")
}

/// A day in words with the time of day, in both languages.
fn day(at: Timestamp, zone: Tz) -> String {
    let at = DateTime::from(at).with_timezone(&zone);
    let month = usize::try_from(at.month0())
        .ok()
        .and_then(|month| MONTHS.get(month));
    let [swahili, english] = month.copied().unwrap_or_default();
    let (day, year) = (at.day(), at.year());
    let names = both(
        &format!("{day} {swahili} {year}"),
        &format!("{day} {english} {year}"),
    );
    format!("{names}, {:02}:{:02}", at.hour(), at.minute())
}

fn escaped(text: &str) -> String {
    visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
