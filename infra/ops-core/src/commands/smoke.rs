use crate::prelude::*;
use crate::smoke;

pub(crate) async fn run(base_url: &str, tables: &Tables, now: Timestamp) -> Result<Report> {
    let steps = smoke::run(tables, base_url, now).await?;
    let text: String = steps
        .iter()
        .map(|step| format!("{:>7} ms  {}\n", step.took_ms, step.what))
        .collect();
    let text = format!(
        "{text}Everything is as it should be. The campaign `smoke-test` is archived again."
    );
    Ok(Report::new(json!({ "steps": steps }), text))
}
