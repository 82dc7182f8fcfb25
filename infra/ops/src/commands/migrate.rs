//! `ops migrate`.

use serde_json::json;

use crate::console::Report;
use crate::failure::Failure;
use crate::migrate;
use crate::tables::Tables;

pub(crate) async fn run(tables: &Tables) -> Result<Report, Failure> {
    let moved = migrate::run(tables).await?;
    let text = match moved {
        0 => "There is nothing to bring into another form.".to_owned(),
        moved => format!("{moved} code books are in their own table now, with their keys encrypted."),
    };
    Ok(Report::new(json!({ "code_books": moved }), text))
}
