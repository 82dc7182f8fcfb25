use crate::draws::files::DrawFiles;
use crate::draws::openings;
use crate::prelude::*;
use crate::submissions;

pub(super) async fn run(reference: Reference, tables: &Tables, now: Timestamp) -> Result<Report> {
    let (mut json, mut text) = (Vec::new(), Vec::new());
    for submission in submissions::by_reference(tables, reference).await? {
        let scope = &submission.scope;
        for draw in openings::draws_since(tables, scope, submission.created_at, now).await? {
            let files = DrawFiles::new(tables, scope, &draw)?;
            let committed = files.committed(&draw).await?;
            let name = reference.to_string();
            let found =
                files.openings(&draw, &committed, |_, one| one.references().contains(&name));
            let Some((row, opening)) = found.await?.into_iter().next() else {
                continue;
            };
            let details = json!({ "draw": draw.name, "row": row });
            let action = Action::new("draw.opening")
                .in_scope(scope)
                .on(submission.submission_id)
                .with(details);
            tables.audit.append(action, now).await?;
            let (name, scope_words, hash) = (&draw.name, scope_in_words(scope), opening.row_hash());
            text.push(format!(
                "draw {name} of {scope_words}, line {} of entries.csv, which begins with {hash}\n\n{opening}\n",
                row.saturating_add(1)
            ));
            json.push(json!({
                "campaign": scope.campaign,
                "environment": scope.environment,
                "draw": name,
                "row": row,
                "hash": hash,
                "opening": opening.to_string(),
            }));
        }
    }
    if json.is_empty() {
        bail!(
            "opening_unknown",
            "{reference} is in no draw: it was not accepted in the period of one, its person was erased, or there is no such \
             reference; `ops submission show {reference}` tells"
        );
    }
    Ok(Report::new(json!({ "openings": json }), text.join("\n")))
}
