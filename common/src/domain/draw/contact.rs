use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::DrawName;
use crate::domain::contact_log::{ContactLog, ContactStep, RowStatus, StepRefused};
use crate::domain::{Reference, SubmissionId};

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    pub draw: DrawName,
    /// Counted from 0.
    pub tier: u32,
    pub prize: String,
    /// Place in the tier's order, from 1.
    pub place: u64,
    /// Row of `entries.csv`, from 0.
    pub row: u64,
    /// First of the row, published. `None` if there was no number to call.
    pub reference: Option<Reference>,
    pub submission_id: Option<SubmissionId>,
    /// `None` once the person was erased.
    pub region: Option<String>,
    pub masked_phone: Option<String>,
    #[serde(flatten)]
    pub log: ContactLog,
}

impl Deref for Contact {
    type Target = ContactLog;

    fn deref(&self) -> &ContactLog {
        &self.log
    }
}

impl Contact {
    pub fn after(&self, step: ContactStep) -> Result<Self, StepRefused> {
        Ok(self.with(self.log.after(step)?))
    }

    pub fn after_operator(
        &self,
        step: ContactStep,
        row_status: RowStatus,
    ) -> Result<Self, StepRefused> {
        Ok(self.with(self.log.after_operator(step, row_status)?))
    }

    pub fn names_person(&self) -> bool {
        self.submission_id.is_some() || self.region.is_some() || self.masked_phone.is_some()
    }

    #[must_use]
    pub fn erased(&self) -> Self {
        let mut erased = self.clone();
        erased.log.revision = erased.log.revision.saturating_add(1);
        Self {
            submission_id: None,
            region: None,
            masked_phone: None,
            ..erased
        }
    }

    fn with(&self, log: ContactLog) -> Self {
        Self {
            log,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::Timestamp;
    use crate::domain::contact_log::ContactEvent;

    fn drawn() -> Contact {
        Contact {
            draw: "week-03".parse().expect("a name"),
            tier: 0,
            prize: "grand-prize".to_owned(),
            place: 1,
            row: 7,
            reference: "K7M2Q9XD".parse().ok(),
            submission_id: Some(SubmissionId::from_random([7; 24])),
            region: Some("Mwanza".to_owned()),
            masked_phone: Some("+2557•••••678".to_owned()),
            log: ContactLog {
                steps: vec![ContactStep {
                    at: Timestamp::from_millis(0),
                    by: None,
                    event: ContactEvent::Drawn,
                }],
                revision: 0,
            },
        }
    }

    #[test]
    fn erasure_leaves_the_place_the_reference_and_the_steps() {
        let erased = drawn().erased();
        assert_eq!(
            (erased.place, erased.reference, erased.revision),
            (1, drawn().reference, 1)
        );
        assert_eq!(
            (erased.region.as_ref(), erased.masked_phone.as_ref()),
            (None, None)
        );
        assert_eq!(erased.submission_id, None);
        assert_eq!(erased.steps, drawn().steps);
    }

    #[test]
    fn step_is_added_to_the_log_alone() {
        let step = ContactStep {
            at: Timestamp::from_millis(60_000),
            by: None,
            event: ContactEvent::Reached,
        };
        let log = drawn().log.after(step.clone()).expect("next");
        assert_eq!(drawn().after(step), Ok(Contact { log, ..drawn() }));
    }

    #[test]
    fn contact_names_a_person_by_any_part() {
        let erased = drawn().erased();
        assert!(!erased.names_person());
        let by_id = Contact {
            submission_id: drawn().submission_id,
            ..erased.clone()
        };
        let by_region = Contact {
            region: drawn().region,
            ..erased.clone()
        };
        let by_phone = Contact {
            masked_phone: drawn().masked_phone,
            ..erased
        };
        assert!(by_id.names_person() && by_region.names_person() && by_phone.names_person());
    }

    #[test]
    fn log_is_stored_beside_the_place() {
        let stored = serde_json::to_value(drawn().erased()).expect("JSON");
        let expected = json!({
            "draw": "week-03", "tier": 0, "prize": "grand-prize", "place": 1, "row": 7,
            "reference": drawn().reference,
            "steps": [{ "at": 0, "event": { "is": "drawn" } }], "revision": 1,
        });
        assert_eq!(stored, expected);
        let read: Contact = serde_json::from_value(stored).expect("a contact");
        assert_eq!(read, drawn().erased());
    }
}
