//! The retention part of `ops campaign show`.

use common::store::retention::{CampaignRetention, PostponeReason};

use crate::prelude::*;

/// A line per kind of data, and per environment once it is time.
pub(super) fn retention_lines(
    campaign: &Campaign,
    retention: &CampaignRetention,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    for data in PersonalData::ALL {
        let (name, [test, live]) = match data {
            PersonalData::Phones => ("phones", ["  phones, test", "  phones, live"]),
            PersonalData::Photos => ("photos", ["  photos, test", "  photos, live"]),
            PersonalData::Limits => ("limits of erased", ["  limits, test", "  limits, live"]),
        };
        lines.push((name, kept(campaign, data)));
        if campaign.keeps_until(data).is_some_and(|until| until <= now) {
            for (environment, name) in [(Environment::Live, live), (Environment::Test, test)] {
                lines.push((name, progress(campaign, retention, environment, data)));
            }
        }
    }
    lines
}

fn kept(campaign: &Campaign, data: PersonalData) -> String {
    let settings = campaign.retention.unwrap_or_default();
    let days = match data {
        PersonalData::Phones => settings.phones_days,
        PersonalData::Photos => settings.photos_days,
        PersonalData::Limits => Some(Campaign::LIMITS_DAYS),
    };
    match (days, campaign.keeps_until(data)) {
        (Some(days), Some(until)) => {
            format!("{days} days after the end: deleted after {}", zoned_time(until, campaign.timezone))
        }
        (Some(days), None) => {
            format!("{days} days after the end: kept, because the campaign has no window.end")
        }
        (None, _) if data == PersonalData::Photos => {
            "no limit set here: deleted the stack's PhotoRetentionDays after their upload (usually 180)"
                .to_owned()
        }
        (None, _) => "kept, no limit set".to_owned(),
    }
}

pub(super) fn as_json(campaign: &Campaign, retention: &CampaignRetention) -> Value {
    let kind = |data: PersonalData| {
        let of = |environment| {
            let found = retention.deletion(campaign, environment, data);
            found.map(|found| {
                json!({
                    "deleted": found.done,
                    "left": found.left,
                    "postponed": found.postponed,
                    "finished_at": found.finished_at,
                })
            })
        };
        json!({
            "data": data,
            "kept_until": campaign.keeps_until(data),
            "live": of(Environment::Live),
            "test": of(Environment::Test),
        })
    };
    PersonalData::ALL.map(kind).into_iter().collect()
}

fn progress(
    campaign: &Campaign,
    retention: &CampaignRetention,
    environment: Environment,
    data: PersonalData,
) -> String {
    let Some(deletion) = retention.deletion(campaign, environment, data) else {
        return "begins within the hour".to_owned();
    };
    let done = grouped(deletion.done);
    let done = match data {
        PersonalData::Phones => format!("{done} submissions are without a phone"),
        PersonalData::Photos => format!("{done} photos are deleted"),
        PersonalData::Limits => format!("those of {done} erased persons are deleted"),
    };
    if let Some(at) = deletion.finished_at {
        return format!("{done}, finished {}", zoned_time(at, campaign.timezone));
    }
    let Some(postponed) = deletion.postponed else {
        return format!("{done} so far");
    };
    let why = match postponed.reason {
        PostponeReason::Unsettled => {
            "waits until every submission is settled; `ops submission list --unsettled` lists those that are not".to_owned()
        }
        PostponeReason::PrizesClaimed => {
            "waits until every draw is run and every prize handed over; `ops draw show` lists the draws, `ops prize list` the instant prizes".to_owned()
        }
        PostponeReason::SubmissionsLeft => format!(
            "{} are left, because a correction waits for its second person, or a record cannot be read",
            grouped(deletion.left)
        ),
    };
    let until = zoned_time(postponed.until, campaign.timezone);
    format!("{done}; {why}; tried again {until}")
}
