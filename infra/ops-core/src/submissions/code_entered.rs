//! The answer to "my code says used": who entered it, and when.

use common::domain::submission::CodeRefusal;

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
        let Some(holder) = tables.submissions().get(&rejected.scope, *holder).await? else {
            return Ok(None);
        };
        let entered = Self::by(tables, holder, zone).await?;
        Ok(Some(Self {
            batch: batch.clone(),
            refused_at: Some(rejected.created_at),
            ..entered
        }))
    }

    pub fn holder(&self) -> &Submission {
        &self.holder
    }

    pub fn sentence(&self) -> String {
        let at = self.holder.created_at.in_zone(self.zone);
        let year = |at: DateTime<Tz>| at.format("%Y").to_string();
        let is_same_year = |refused: Timestamp| year(refused.in_zone(self.zone)) == year(at);
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
            Some(at) => format!(
                ", {} earlier",
                span_in_words(at.since(self.holder.created_at))
            ),
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
            "created_at": self.holder.created_at,
            "batch": self.batch,
        })
    }
}
