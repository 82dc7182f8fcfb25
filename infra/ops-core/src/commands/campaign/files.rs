//! Campaign files: reads those of `apply`, writes those of `init`, `schema` and `clone`.

use std::io::Read;

use crate::atomic_file::write_new;
use crate::campaign_file::{self, CampaignFile, Problem};
use crate::prelude::*;

pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<CampaignFile>> {
    let mut files: Vec<CampaignFile> = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        match campaign_file::read_bytes(&name, &read(path)?) {
            Err(found) => problems.extend(found),
            Ok(file)
                if files
                    .iter()
                    .any(|other| other.campaign.slug == file.campaign.slug) =>
            {
                let message = "is also in another file; give each campaign one file".to_owned();
                problems.push(Problem {
                    file: name,
                    line: 1,
                    field: Some("slug".to_owned()),
                    message,
                });
            }
            Ok(file) => files.push(file),
        }
    }
    if problems.is_empty() {
        Ok(files)
    } else {
        Err(Failure::from_problems("campaign_file_invalid", problems))
    }
}

/// Reads one byte past the limit at most.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(campaign_file::MAX_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(Failure::from_io(path, "reading"))?;
    Ok(bytes)
}

pub(super) fn init(path: &Path) -> Result<Report> {
    create(path, &campaign_file::template())?;
    let path = path.display();
    let text = format!(
        "wrote {path}: fill in what is empty, remove the `#` before what else you need, then look at it with \
         `ops campaign apply {path} --dry-run`"
    );
    Ok(Report::new(json!({ "file": path.to_string() }), text))
}

pub(super) fn schema() -> Report {
    let schema = campaign_file::schema();
    let text = format!("{schema:#}");
    Report::new(schema, text)
}

pub(super) async fn clone(
    tables: &Tables,
    slug: &CampaignSlug,
    new: CampaignSlug,
    output: Option<&Path>,
) -> Result<Report> {
    let copy = Campaign {
        slug: new.clone(),
        ..tables.campaign(slug).await?
    };
    if tables.campaigns.get(&new).await?.is_some() {
        bail!(
            "campaign_exists",
            "there is a campaign `{new}` already; choose another slug"
        );
    }
    let yaml = format!(
        "# Made from {slug}. Change what is different, such as name and window, then apply it. Codes and keys are the \
         campaign's own: mint and issue new ones.\n{}",
        campaign_file::write::to_yaml(&copy)?
    );
    let Some(path) = output else {
        return Ok(Report::new(json!({ "slug": new, "yaml": yaml }), yaml));
    };
    create(path, &yaml)?;
    let path = path.display();
    let text =
        format!("wrote {path}: change what is different, then run `ops campaign apply {path}`");
    Ok(Report::new(
        json!({ "slug": new, "file": path.to_string() }),
        text,
    ))
}

fn create(path: &Path, text: &str) -> Result<()> {
    if write_new(path, text.as_bytes())? {
        return Ok(());
    }
    bail!(
        "file_exists",
        "{} exists already; choose another file",
        path.display()
    )
}
