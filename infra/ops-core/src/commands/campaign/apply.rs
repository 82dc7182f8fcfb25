//! `ops campaign apply`: shows what a file changes, asks, and writes it.

use common::domain::campaign::{Campaign, CampaignStatus, CodePolicy};
use common::domain::partner::PartnerRules;
use common::domain::receipt::schedule::LOOK_UPS_PER_MINUTE;
use common::domain::timestamp::Timestamp;
use common::store::campaign_versions::CampaignChange;
use serde_json::{Value, json};

use crate::campaign_file::CampaignFile;
use crate::campaigns::{self, Applied, Change, FieldChange, Plan};
use crate::cli::ApplyArgs;
use crate::confirm::Answer;
use crate::failure::Failure;
use crate::format::grouped;
use crate::pace::PartnerConcurrency;
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

pub(super) async fn apply(
    tables: &Tables,
    files: &[CampaignFile],
    args: &ApplyArgs,
    change: CampaignChange,
    concurrency: PartnerConcurrency,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let now = change.at;
    let mut plans = Vec::new();
    for file in files {
        let plan = campaigns::plan(tables, file).await?;
        let differences = plan.differences(now)?;
        plans.push((plan, differences));
    }
    let changing = || {
        plans
            .iter()
            .filter(|(plan, _)| plan.change() != Change::Unchanged)
    };
    let shown: String = changing()
        .map(|(plan, differences)| in_words(plan, differences))
        .collect();
    let notes: Vec<String> = plans
        .iter()
        .flat_map(|(plan, _)| notes(plan, now, concurrency))
        .collect();
    if args.dry_run {
        let unchanged = plans
            .iter()
            .filter(|(plan, _)| plan.change() == Change::Unchanged);
        let unchanged: String = unchanged
            .map(|(plan, _)| format!("{} would not change\n", plan.after().slug))
            .collect();
        let text = format!(
            "{shown}{unchanged}Nothing was changed, because of --dry-run; leave it out to apply this."
        );
        return Ok(report(&plans, &notes, true, text));
    }
    if let Some((plan, _)) =
        changing().find(|(plan, _)| !args.allow_anyone && lets_anyone_in(plan.after()))
    {
        let message = format!(
            "nothing was changed: {}, or add --allow-anyone if that is meant",
            anyone_note(plan.after())
        );
        return Err(Failure::new("anyone_can_enter", message));
    }
    let mut text = String::new();
    if !shown.is_empty() {
        let plans: Vec<_> = plans.iter().map(|(plan, _)| plan).collect();
        ask(&plans, &shown, args, now, terminal)?;
        if args.confirm.yes {
            text = shown;
        }
    }
    for (plan, _) in &plans {
        let Applied {
            slug,
            change,
            resumed,
        } = campaigns::carry_out(tables, plan, change.clone()).await?;
        let resumed = if resumed {
            "; it is no longer paused"
        } else {
            ""
        };
        text.push_str(&format!("{slug} {}{resumed}\n", change.as_str()));
    }
    let created = changing().filter(|(plan, _)| plan.change() == Change::Created);
    let next: Vec<_> = created
        .map(|(plan, _)| next_steps(plan.after()))
        .chain(notes.clone())
        .collect();
    Ok(Report {
        note: (!next.is_empty()).then(|| next.join("\n")),
        ..report(&plans, &notes, false, text)
    })
}

/// Asks before anything is written: for the slug of each campaign that loses personal data, because a deletion cannot be
/// undone; for a `y` if none does.
fn ask(
    plans: &[&Plan],
    mut shown: &str,
    args: &ApplyArgs,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<(), Failure> {
    let this = if plans.len() == 1 { "this" } else { "these" };
    let deleting = plans.iter().filter_map(|plan| {
        let names: Vec<_> = plan.deletes(now).iter().map(|data| data.as_str()).collect();
        (!names.is_empty()).then(|| (&plan.after().slug, names.join(" and ")))
    });
    let deleting: Vec<_> = deleting.collect();
    if deleting.is_empty() {
        return terminal.confirm(&format!("{shown}Apply {this}?"), Answer::Yes, args.confirm);
    }
    for (slug, names) in deleting {
        if args.confirm.yes && !args.delete_now {
            let message = format!(
                "nothing was changed: the deletion of the {names} of {slug} would begin within the hour, which cannot be undone; \
                 correct window.end or retention in the file, or add --delete-now if that is meant"
            );
            return Err(Failure::new("deletes_personal_data", message));
        }
        let question = format!(
            "{shown}Apply {this}, and begin to delete the {names} of {slug} within the hour?"
        );
        terminal.confirm(&question, Answer::Word(slug.as_str()), args.confirm)?;
        shown = "";
    }
    Ok(())
}

/// What a new campaign needs before it can take entries.
fn next_steps(campaign: &Campaign) -> String {
    let slug = &campaign.slug;
    let codes = match campaign.code {
        CodePolicy::Service => {
            format!(
                "; make codes with `ops code mint --campaign {slug} --environment test --count N --output FILE.csv`, or bring \
                 printed ones with `ops code import`"
            )
        }
        CodePolicy::Partner | CodePolicy::None => String::new(),
    };
    format!(
        "next: give the caller a key with `ops key issue --campaign {slug} --environment test`{codes}; then the same for live"
    )
}

fn report(
    plans: &[(Plan, Vec<FieldChange>)],
    notes: &[String],
    dry_run: bool,
    text: String,
) -> Report {
    let campaign = |(plan, differences): &(Plan, Vec<FieldChange>)| {
        let Applied {
            slug,
            change,
            resumed,
        } = plan.outcome();
        json!({ "slug": slug, "change": change, "resumed": resumed, "differences": differences })
    };
    let campaigns: Vec<Value> = plans.iter().map(campaign).collect();
    let json = json!({ "campaigns": campaigns, "notes": notes, "dry_run": dry_run });
    let note = (!notes.is_empty()).then(|| notes.join("\n"));
    Report {
        note,
        ..Report::new(json, text)
    }
}

/// What a file changes, for people.
fn in_words(plan: &Plan, differences: &[FieldChange]) -> String {
    let (slug, after) = (&plan.after().slug, plan.after());
    match plan.change() {
        Change::Created => format!(
            "{slug} is new:\n{}",
            campaigns::text_of_new(differences, after)
        ),
        Change::Updated => {
            let archived = if after.archived {
                format!("  (it is archived; `ops campaign unarchive {slug}` takes it back)\n")
            } else {
                String::new()
            };
            format!(
                "{slug} changes:\n{}{archived}",
                campaigns::text(differences, after)
            )
        }
        Change::Unchanged => String::new(),
    }
}

/// What an operator should know about the changed campaign.
fn notes(plan: &Plan, now: Timestamp, concurrency: PartnerConcurrency) -> Vec<String> {
    let campaign = plan.after();
    let slug = &campaign.slug;
    let mut notes = Vec::new();
    if plan.change() != Change::Unchanged {
        if campaign.status(now) == CampaignStatus::Live && campaign.window.start.is_none() {
            notes.push(format!(
                "{slug} has no window.start and is not paused, so it takes entries once it is applied; \
                 `ops campaign pause {slug}` stops it"
            ));
        }
        notes.extend(rate_notes(campaign, concurrency));
    }
    if lets_anyone_in(campaign) {
        notes.push(anyone_note(campaign));
    }
    notes
}

fn lets_anyone_in(campaign: &Campaign) -> bool {
    !campaign.needs_code() && !campaign.needs_receipt()
}

fn anyone_note(campaign: &Campaign) -> String {
    format!(
        "{} asks for neither a code nor a receipt: anybody can enter as often as its limits allow, with any number of \
         phones; set code.checked_by, or add a receipt block with `required: true`",
        campaign.slug
    )
}

/// Notes on the rates at which pending submissions are settled.
fn rate_notes(campaign: &Campaign, concurrency: PartnerConcurrency) -> Vec<String> {
    let slug = &campaign.slug;
    let mut notes = Vec::new();
    if let Some(PartnerRules {
        max_in_flight,
        timeout_seconds,
        ..
    }) = &campaign.partner
    {
        notes.push(format!(
            "{slug}: at most {max_in_flight} requests ask the partner at a time (partner.max_in_flight); the queue asks \
             about the rest, {}",
            concurrency.rate(*timeout_seconds)
        ));
    }
    if campaign.receipt.is_some() {
        notes.push(format!(
            "{slug}: receipts are looked up at the tax authority at {LOOK_UPS_PER_MINUTE} a minute, {} an hour, for all \
             campaigns of the deployment together; what comes faster waits",
            grouped(LOOK_UPS_PER_MINUTE * 60)
        ));
    }
    notes
}
