use crate::prelude::*;

/// Known without reading whole tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) now: Timestamp,
    pub(crate) live_codes: u64,
    pub(crate) entries: i64,
    /// Judged by entries, so only probably over `limits.phone_total`.
    pub(crate) over_limit: Option<PhonesOver>,
}

impl Facts {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            now,
            live_codes: 0,
            entries: 0,
            over_limit: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhonesOver {
    pub(crate) entries: u64,
    pub(crate) phones: i64,
}

/// Index and lower end of the first of [`ENTRIES_RANGES`] above a limit.
pub(super) fn range_above(limit: u64) -> Option<(usize, u64)> {
    let fewest = |range: &str| range.split(['-', '+']).next()?.parse::<u64>().ok();
    let mut ranges = ENTRIES_RANGES.iter().enumerate();
    ranges.find_map(|(index, range)| Some((index, fewest(range).filter(|fewest| *fewest > limit)?)))
}

/// `None` if the values speak for themselves.
pub(super) fn meaning(
    path: &str,
    before: &Campaign,
    after: &Campaign,
    facts: &Facts,
) -> Option<String> {
    let said = match path {
        "window.start" => return of_window(path, before, after, facts),
        "window.end" => {
            let due = of_due(before, after, &PersonalData::SETTABLE, facts.now);
            let said: Vec<_> = of_window(path, before, after, facts)
                .into_iter()
                .chain(due)
                .collect();
            return (!said.is_empty()).then(|| said.join("; "));
        }
        "retention.phones_days" => {
            return of_due(before, after, &[PersonalData::Phones], facts.now);
        }
        "retention.photos_days" => {
            return of_due(before, after, &[PersonalData::Photos], facts.now);
        }
        "paused" if after.paused => "entries are refused while it is paused",
        "paused" if after.status(facts.now) == CampaignStatus::Live => {
            "the campaign takes entries again"
        }
        "timezone" => "days begin at another hour from now on; earlier submissions keep their day",
        "code.checked_by" => return Some(of_codes(before, after, facts.live_codes)),
        "limits.phone_daily" if is_lower(before.limits.phone_daily, after.limits.phone_daily) => {
            LOWERED
        }
        "limits.phone_total" if is_lower(before.limits.phone_total, after.limits.phone_total) => {
            return Some(of_lower_total(facts.over_limit));
        }
        "entries_per_submission" if facts.entries > 0 => {
            let so_far = entries_in_words(facts.entries.unsigned_abs());
            return Some(format!(
                "for submissions from now on; accepted ones keep their {so_far}"
            ));
        }
        "entries_per_submission" => "for submissions from now on; accepted ones keep their entries",
        "consent.en" | "consent.sw" => {
            let version =
                |campaign: &Campaign| campaign.consent.as_ref().map(|text| text.version.clone());
            if version(before) != version(after) {
                return None;
            }
            "the text changes and its version does not: raise consent.version, or it stays unknown which text a \
             consumer agreed to"
        }
        _ if path.starts_with("wrong_codes.") => {
            "phones that sent too many wrong codes stay refused until their time is up"
        }
        _ if path.starts_with("messages.") => {
            "consumers read it within 5 seconds, also for earlier submissions"
        }
        _ if path.starts_with("receipt.") => "receipts that are still pending are judged by it too",
        _ if path.starts_with("partner.") => {
            "submissions that are still pending are asked about in this way too"
        }
        _ => return None,
    };
    Some(said.to_owned())
}

const LOWERED: &str = "a phone that has more keeps them, and gets no further submission accepted";

fn of_lower_total(over: Option<PhonesOver>) -> String {
    match over {
        Some(PhonesOver { entries, phones }) if phones > 0 => {
            let phones = grouped(phones.unsigned_abs());
            format!("{LOWERED}; by the numbers, {phones} phones have {entries} entries or more")
        }
        Some(_) | None => LOWERED.to_owned(),
    }
}

/// `None` is the highest limit.
pub(super) fn is_lower(before: Option<u32>, after: Option<u32>) -> bool {
    after.is_some_and(|after| before.is_none_or(|before| after < before))
}

fn of_window(path: &str, before: &Campaign, after: &Campaign, facts: &Facts) -> Option<String> {
    let now = facts.now;
    let said = match (before.status(now), after.status(now)) {
        (CampaignStatus::Live | CampaignStatus::NotStarted, CampaignStatus::Ended) => {
            "the window ends in the past: no more entries are taken"
        }
        (CampaignStatus::Live | CampaignStatus::Ended, CampaignStatus::NotStarted) => {
            "entries are refused before the new start"
        }
        (CampaignStatus::NotStarted, CampaignStatus::Live) => "the campaign takes entries at once",
        (CampaignStatus::Ended, CampaignStatus::Live) => "the campaign takes entries again",
        (_, CampaignStatus::Paused)
            if path == "window.end" && after.window.end.is_some_and(|end| end <= now) =>
        {
            "the window ends in the past: entries are refused, also after a pause"
        }
        _ => return None,
    };
    if facts.entries == 0 {
        return Some(said.to_owned());
    }
    Some(format!(
        "{} so far; {said}",
        entries_in_words(facts.entries.unsigned_abs())
    ))
}

fn of_due(
    before: &Campaign,
    after: &Campaign,
    of: &[PersonalData],
    now: Timestamp,
) -> Option<String> {
    let due = before.newly_due(after, now);
    let due: Vec<_> = due
        .iter()
        .filter(|data| of.contains(data))
        .map(|data| data.as_str())
        .collect();
    let names = due.join(" and ");
    (!due.is_empty()).then(|| {
        format!("{names} are past their retention then, and their deletion begins within the hour")
    })
}

fn of_codes(before: &Campaign, after: &Campaign, live_codes: u64) -> String {
    let codes = grouped(live_codes);
    match (before.code, after.code) {
        (_, CodePolicy::Service) if live_codes == 0 => {
            "there are no live codes: entries are refused until you mint or import some".to_owned()
        }
        (_, CodePolicy::Service) => {
            format!("only the {codes} live codes of this campaign are valid")
        }
        (CodePolicy::Service, CodePolicy::Partner) => {
            format!(
                "the {codes} live codes of this campaign are no longer valid, unless the partner knows them"
            )
        }
        (_, CodePolicy::Partner) => {
            "every submission needs a code that the partner accepts".to_owned()
        }
        (CodePolicy::Service, CodePolicy::None) => {
            format!("the {codes} live codes of this campaign are no longer looked at")
        }
        (CodePolicy::Partner | CodePolicy::None, CodePolicy::None) => {
            "the partner is no longer asked".to_owned()
        }
    }
}
