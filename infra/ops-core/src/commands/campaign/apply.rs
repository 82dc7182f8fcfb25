//! `ops campaign apply`: shows what a file changes, asks, and writes it.

use crate::campaign_file::CampaignFile;
use crate::campaigns::{self, Change, ChangeRow, Plan};
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
        .flat_map(|plan| plan.notes(now, concurrency))
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
    let open = changing.iter().find_map(|plan| plan.lets_anyone_in());
    if let Some(words) = open.filter(|_| !args.allow_anyone) {
        bail!(
            "anyone_can_enter",
            "nothing was changed: {words}, or add --allow-anyone if that is meant"
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
        change,
        after,
        ..
    } = plan;
    let is_new = *change == Change::Created;
    let mut text = format!("{slug} {}:\n", if is_new { "is new" } else { "changes" });
    for ChangeRow {
        field,
        before,
        after,
        meaning,
    } in plan.rows()
    {
        text += &match before {
            Some(before) => format!("  {field}: {before} -> {after}\n"),
            None if is_new => format!("  {field}: {after}\n"),
            None => format!("      {field}: {after}\n"),
        };
        if let Some(meaning) = meaning {
            text += &format!("      {meaning}\n");
        }
    }
    if after.archived && !is_new {
        text +=
            &format!("  (it is archived; `ops campaign archive --undo {slug}` takes it back)\n");
    }
    text
}
