//! `ops campaign apply`: shows what a file changes, asks, and writes it.

use common::domain::receipt::schedule::LOOKUPS_PER_MINUTE;

use crate::campaign_file::CampaignFile;
use crate::campaigns::{self, Change, Plan};
use crate::cli::ApplyArgs;
use crate::pace::PartnerConcurrency;
use crate::prelude::*;

pub(super) async fn apply(
    tables: &Tables,
    files: &[CampaignFile],
    args: &ApplyArgs,
    change: CampaignChange,
    concurrency: PartnerConcurrency,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let now = change.at;
    let mut plans = Vec::new();
    for file in files {
        plans.push(campaigns::plan(tables, file, now).await?);
    }
    let (unchanged, changing): (Vec<_>, Vec<_>) = plans
        .iter()
        .partition(|plan| plan.change == Change::Unchanged);
    let shown: String = changing.iter().map(|plan| in_words(plan)).collect();
    let notes: Vec<String> = plans
        .iter()
        .flat_map(|plan| notes(plan, now, concurrency))
        .collect();
    let json = json!({ "campaigns": plans, "notes": notes, "dry_run": args.dry_run });
    if args.dry_run {
        let unchanged: String = unchanged
            .iter()
            .map(|plan| format!("{} would not change\n", plan.slug))
            .collect();
        let text = format!(
            "{shown}{unchanged}Nothing was changed, because of --dry-run; leave it out to apply this."
        );
        return Ok(Report::new(json, text).with_notes(&notes));
    }
    let open = changing.iter().find(|plan| lets_anyone_in(&plan.after));
    if let Some(plan) = open.filter(|_| !args.allow_anyone) {
        bail!(
            "anyone_can_enter",
            "nothing was changed: {}, or add --allow-anyone if that is meant",
            anyone_note(&plan.after)
        );
    }
    let mut text = String::new();
    if !changing.is_empty() {
        ask(&plans, &shown, args, terminal)?;
        if terminal.yes {
            text = shown;
        }
    }
    for plan in &plans {
        campaigns::carry_out(tables, plan, change.clone()).await?;
        let done = match plan.change {
            Change::Created => "created",
            Change::Updated => "updated",
            Change::Unchanged => "unchanged",
        };
        let resumed = if plan.resumed {
            "; it is no longer paused"
        } else {
            ""
        };
        text += &format!("{} {done}{resumed}\n", plan.slug);
    }
    let created = plans.iter().filter(|plan| plan.change == Change::Created);
    let next: Vec<_> = created
        .map(|plan| next_steps(&plan.after))
        .chain(notes)
        .collect();
    Ok(Report::new(json, text).with_notes(&next))
}

/// Asks for the slug of a campaign that loses personal data, which cannot be undone; otherwise for
/// `y`.
fn ask(
    plans: &[Plan],
    mut shown: &str,
    args: &ApplyArgs,
    terminal: &mut Terminal<'_>,
) -> Result<()> {
    let this = if plans.len() == 1 { "this" } else { "these" };
    if plans.iter().all(|plan| plan.deletes.is_empty()) {
        return terminal.confirm(&format!("{shown}Apply {this}?"));
    }
    for Plan { slug, deletes, .. } in plans.iter().filter(|plan| !plan.deletes.is_empty()) {
        let names: Vec<_> = deletes.iter().copied().map(PersonalData::as_str).collect();
        let names = names.join(" and ");
        if terminal.yes && !args.delete_now {
            bail!(
                "deletes_personal_data",
                "nothing was changed: the deletion of the {names} of {slug} would begin within the hour, which cannot be undone; \
                 correct window.end or retention in the file, or add --delete-now if that is meant"
            );
        }
        let question = format!(
            "{shown}Apply {this}, and begin to delete the {names} of {slug} within the hour?"
        );
        terminal.confirm_typed(&question, slug.as_str())?;
        shown = "";
    }
    Ok(())
}

fn next_steps(campaign: &Campaign) -> String {
    let slug = &campaign.slug;
    let codes = match campaign.code {
        CodePolicy::Service => format!(
            "; make codes with `ops code mint --campaign {slug} --environment test --count N --output FILE.csv`, or bring \
             printed ones with `ops code import`"
        ),
        CodePolicy::Partner | CodePolicy::None => String::new(),
    };
    format!(
        "next: give the caller a key with `ops key issue --campaign {slug} --environment test`{codes}; then the same for live"
    )
}

fn in_words(plan: &Plan) -> String {
    let Plan {
        slug,
        differences,
        after,
        ..
    } = plan;
    if plan.change == Change::Created {
        let fields = campaigns::text_of_new(differences, after);
        return format!("{slug} is new:\n{fields}");
    }
    let mut text = format!("{slug} changes:\n{}", campaigns::text(differences, after));
    if after.archived {
        text +=
            &format!("  (it is archived; `ops campaign archive --undo {slug}` takes it back)\n");
    }
    text
}

fn notes(plan: &Plan, now: Timestamp, concurrency: PartnerConcurrency) -> Vec<String> {
    let Plan {
        slug,
        after: campaign,
        ..
    } = plan;
    let mut notes = Vec::new();
    if plan.change != Change::Unchanged {
        if campaign.status(now) == CampaignStatus::Live && campaign.window.start.is_none() {
            notes.push(format!(
                "{slug} has no window.start and is not paused, so it takes entries once it is applied; \
                 `ops campaign pause {slug}` stops it"
            ));
        }
        if let Some(partner) = &campaign.partner {
            notes.push(format!(
                "{slug}: at most {} requests ask the partner at a time (partner.max_in_flight); the queue asks \
                 about the rest, {}",
                partner.max_in_flight,
                concurrency.rate(partner.timeout_seconds)
            ));
        }
        if campaign.receipt.is_some() {
            notes.push(format!(
                "{slug}: receipts are looked up at the tax authority at {LOOKUPS_PER_MINUTE} a minute, {} an hour, for all \
                 campaigns of the deployment together; what comes faster waits",
                grouped(LOOKUPS_PER_MINUTE * 60)
            ));
        }
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
        "{} asks for neither a code nor a receipt: anyone can enter as often as its limits allow, with any number of \
         phones; set code.checked_by, or add a receipt block with `required: true`",
        campaign.slug
    )
}
