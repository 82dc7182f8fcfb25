//! The answer to "my code says used": who entered it, and when.

use chrono::DateTime;
use common::domain::submission::CodeRefusal;

use crate::phones;
use crate::prelude::*;

#[derive(Clone, Debug)]
pub struct CodeEntered {
    holder: Submission,
    phone: String,
    batch: Option<String>,
    zone: Tz,
    refused_at: Option<Timestamp>,
}

impl CodeEntered {
    /// An unreadable phone is shown as such.
    pub async fn by(tables: &Tables, holder: Submission, zone: Tz) -> Result<Self> {
        let phone = phones::shown(tables, &holder, false).await?;
        Ok(Self {
            phone,
            batch: holder.batch.clone(),
            holder,
            zone,
            refused_at: None,
        })
    }

    /// `None` if the code was not the reason, or its entry is gone.
    pub async fn before(tables: &Tables, rejected: &Submission, zone: Tz) -> Result<Option<Self>> {
        let Some(CodeRefusal { holder, batch }) = &rejected.code_refusal else {
            return Ok(None);
        };
        let Some(holder) = tables
            .store
            .submissions()
            .get(&rejected.scope, *holder)
            .await?
        else {
            return Ok(None);
        };
        let entered = Self::by(tables, holder, zone).await?;
        Ok(Some(Self {
            batch: batch.clone(),
            refused_at: Some(rejected.created_at),
            ..entered
        }))
    }

    pub fn sentence(&self) -> String {
        let at = DateTime::from(self.holder.created_at).with_timezone(&self.zone);
        let year = |at: DateTime<Tz>| at.format("%Y").to_string();
        let is_same_year = |refused: Timestamp| {
            year(DateTime::from(refused).with_timezone(&self.zone)) == year(at)
        };
        let pattern = if self.refused_at.is_some_and(is_same_year) {
            "%-d %b %H:%M"
        } else {
            "%-d %b %Y %H:%M"
        };
        let phone = match self.phone.as_str() {
            masked if masked.starts_with('+') => masked.to_owned(),
            missing => format!("a phone that is {missing}"),
        };
        let earlier = match self.refused_at {
            Some(at) => format!(", {} earlier", in_words(at.since(self.holder.created_at))),
            None => String::new(),
        };
        let since = match self.holder.status.state() {
            State::Rejected => "; that entry was taken back since",
            State::Pending | State::Unknown => "; that entry is not settled yet",
            State::Accepted => "",
        };
        format!(
            "This code was entered on {} by {phone} ({}){earlier}{since}.",
            at.format(pattern),
            self.holder.reference()
        )
    }

    pub(crate) fn as_json(&self) -> Value {
        json!({
            "id": self.holder.submission_id,
            "ref": self.holder.reference().to_string(),
            "phone": self.phone,
            "created_at": self.holder.created_at.to_string(),
            "batch": self.batch,
        })
    }
}

/// Such as `12 minutes`.
fn in_words(span: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let seconds = span.as_secs();
    let fits = UNITS.into_iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = fits.unwrap_or((1, "second"));
    match seconds / unit {
        1 => format!("1 {name}"),
        count => format!("{count} {name}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_is_told_in_its_largest_unit() {
        for (seconds, words) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (119, "1 minute"),
            (725, "12 minutes"),
            (7_300, "2 hours"),
            (90_000, "1 day"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
    }
}
