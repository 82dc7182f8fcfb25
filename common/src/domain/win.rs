use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::contact_log::{
    ContactEvent, ContactLog, ContactState, ContactStep, RowStatus, SkipReason, StepRefused,
};
use super::digest::Digest;
use super::instant::Claim;
use super::{EntrantId, Reference, Scope, State, Submission, SubmissionId, Timestamp};

text_enum! {
    pub enum WinSource {
        Batch = "batch",
        Partner = "partner",
        Operator = "operator",
        /// A winning moment.
        Moment = "moment",
    }
}

text_enum! {
    pub enum WinStatus {
        Won = "won",
        Called = "called",
        Reached = "reached",
        Identified = "identified",
        HandedOver = "handed_over",
        Forfeited = "forfeited",
        Revoked = "revoked",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WonMoment {
    pub plan: Digest,
    /// Index in the plan's prizes.
    pub prize: usize,
}

/// One for each acceptance with an instant prize.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Win {
    pub scope: Scope,
    pub accepted_at: Timestamp,
    pub submission_id: SubmissionId,
    pub reference: Reference,
    pub entrant_id: EntrantId,
    pub prize: String,
    pub source: WinSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moment: Option<WonMoment>,
    #[serde(flatten)]
    pub log: ContactLog,
}

impl Deref for Win {
    type Target = ContactLog;

    fn deref(&self) -> &ContactLog {
        &self.log
    }
}

impl Win {
    pub fn new(before: Option<&Submission>, after: &Submission) -> Option<Self> {
        let is_accepted = |one: &Submission| one.status.state() == State::Accepted;
        if before.is_some_and(is_accepted) || !is_accepted(after) {
            return None;
        }
        let had_partner_code = before.unwrap_or(after).partner_code.is_some();
        Some(Self {
            scope: after.scope.clone(),
            accepted_at: after.updated_at,
            submission_id: after.submission_id,
            reference: after.reference(),
            entrant_id: after.entrant_id.clone(),
            prize: after.status.instant_win()?.to_owned(),
            source: match (&after.decision, had_partner_code) {
                (Some(_), _) => WinSource::Operator,
                (None, true) => WinSource::Partner,
                (None, false) => WinSource::Batch,
            },
            batch: after.batch.clone(),
            moment: None,
            log: ContactLog::default(),
        })
    }

    #[must_use]
    pub fn by_claim(self, claim: &Claim) -> Self {
        Self {
            source: WinSource::Moment,
            batch: None,
            moment: Some(WonMoment {
                plan: claim.plan,
                prize: claim.prize,
            }),
            ..self
        }
    }

    pub fn is_by_moment(&self) -> bool {
        self.source == WinSource::Moment
    }

    pub fn status(&self) -> WinStatus {
        match self.state() {
            ContactState::Drawn => WinStatus::Won,
            ContactState::Called { .. } => WinStatus::Called,
            ContactState::Reached => WinStatus::Reached,
            ContactState::Identified => WinStatus::Identified,
            ContactState::HandedOver => WinStatus::HandedOver,
            ContactState::Skipped {
                reason: SkipReason::Revoked,
            } => WinStatus::Revoked,
            ContactState::Skipped { .. } => WinStatus::Forfeited,
        }
    }

    /// Such as `called 2 of 3 times` or `forfeited: under 18`.
    pub fn state_in_words(&self) -> String {
        match (self.status(), self.state()) {
            (WinStatus::Won, _) => "won, not called yet".to_owned(),
            (WinStatus::Forfeited, ContactState::Skipped { reason }) => {
                format!("forfeited: {}", reason.in_words())
            }
            (WinStatus::Revoked, _) => "revoked with its entry".to_owned(),
            (_, state) => state.to_string(),
        }
    }

    /// An operator's step. Only revoking the submission revokes the prize.
    pub fn after(&self, step: ContactStep) -> Result<Self, StepRefused> {
        Ok(self.with(self.log.after_operator(step, RowStatus::Counts)?))
    }

    /// `None` if the prize was handed over or lost already.
    pub fn revoked(&self, at: Timestamp) -> Option<Self> {
        let event = ContactEvent::Skipped {
            reason: SkipReason::Revoked,
            inspector: None,
        };
        let step = ContactStep {
            at,
            by: None,
            event,
        };
        self.log.after(step).ok().map(|log| self.with(log))
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
    use super::*;
    use crate::domain::instant::Caps;
    use crate::domain::{Findings, OperatorDecision, SubmissionStatus, Transition};

    const MINUTE: i64 = 60_000;

    fn won() -> Win {
        let status = SubmissionStatus::accepted(1, Some("Airtime 1,000".to_owned()));
        let after = Submission {
            status,
            settling: None,
            ..Submission::example()
        };
        Win::new(None, &after).expect("a prize")
    }

    fn step(minute: i64, event: ContactEvent) -> ContactStep {
        let at = Timestamp::from_millis(minute * MINUTE);
        ContactStep {
            at,
            by: None,
            event,
        }
    }

    fn lost(reason: SkipReason) -> ContactEvent {
        let inspector = Some("Neema".to_owned());
        ContactEvent::Skipped { reason, inspector }
    }

    #[test]
    fn status_follows_from_the_steps() {
        use ContactEvent::{HandedOver, Identified, NoAnswer, Reached};
        let way = [NoAnswer, Reached, Identified, HandedOver];
        let mut win = won();
        let mut seen = vec![win.status().as_str()];
        for (minute, event) in (1..).zip(way) {
            win = win.after(step(minute, event)).expect("it follows");
            seen.push(win.status().as_str());
        }
        let expected = ["won", "called", "reached", "identified", "handed_over"];
        assert_eq!(seen, expected);
        assert_eq!((win.is_open(), win.holds_prize()), (false, true));
        assert_eq!(win.revoked(Timestamp::MAX), None);

        let forfeited = won().after(step(1, lost(SkipReason::Excluded)));
        let forfeited = forfeited.expect("it follows");
        assert_eq!(forfeited.status(), WinStatus::Forfeited);
        assert_eq!(forfeited.revoked(Timestamp::MAX), None);
        let revoked = won().revoked(Timestamp::MAX).expect("it is open");
        assert_eq!(
            (revoked.status(), revoked.revision),
            (WinStatus::Revoked, 1)
        );
        assert_eq!(
            won().after(step(1, lost(SkipReason::Revoked))),
            Err(StepRefused::NotRevoked)
        );
    }

    #[test]
    fn each_acceptance_with_a_prize_is_one_win() {
        let open = Submission {
            partner_code: None,
            ..Submission::example()
        };
        let accept = |before: &Submission, prize: Option<&str>| {
            let prize = prize.map(str::to_owned);
            let accept = Transition::Accept { entries: 1, prize };
            let now = Timestamp::from_millis(9);
            before
                .apply(&accept, Findings::default(), now)
                .expect("it is open")
        };
        let with = accept(&open, Some("Simu"));
        let win = Win::new(Some(&open), &with).expect("a prize");
        assert_eq!(
            (win.prize.as_str(), win.source, win.accepted_at.as_millis()),
            ("Simu", WinSource::Batch, 9)
        );
        let of_partner = Submission {
            partner_code: "DOWN-1".parse().ok(),
            ..open.clone()
        };
        let win = Win::new(Some(&of_partner), &accept(&of_partner, Some("Simu")));
        assert_eq!(win.map(|win| win.source), Some(WinSource::Partner));
        let by_hand = Submission {
            decision: Some(OperatorDecision {
                by: "asha".to_owned(),
                at: Timestamp::from_millis(9),
                why: None,
                confirmed: None,
                identity: None,
            }),
            ..with.clone()
        };
        let win = Win::new(Some(&open), &by_hand).expect("a prize");
        assert_eq!(win.source, WinSource::Operator);
        assert_eq!(Win::new(Some(&open), &accept(&open, None)), None);
        assert_eq!(Win::new(None, &open), None);
        let annotated = with.changed(Timestamp::from_millis(10));
        assert_eq!(Win::new(Some(&with), &annotated), None);
    }

    #[test]
    fn claimed_moment_is_the_source_of_its_win() {
        let plan = Digest::from_parts(&[]);
        let claim = Claim {
            plan,
            prize: 2,
            text: "Airtime 1,000".to_owned(),
            due: 1,
            day: 0,
            caps: Caps { day: 1, total: 1 },
        };
        let by_batch = Win {
            batch: Some("first".to_owned()),
            ..won()
        };
        let expected = Win {
            source: WinSource::Moment,
            moment: Some(WonMoment { plan, prize: 2 }),
            ..won()
        };
        assert!(!by_batch.is_by_moment() && expected.is_by_moment());
        assert_eq!(by_batch.by_claim(&claim), expected);
    }

    #[test]
    fn state_is_told_in_words() {
        let after = |event| won().after(step(1, event)).expect("it follows");
        let revoked = won().revoked(Timestamp::MAX).expect("it is open");
        for (win, words) in [
            (won(), "won, not called yet"),
            (after(ContactEvent::NoAnswer), "called 1 of 3 times"),
            (
                after(lost(SkipReason::Excluded)),
                "forfeited: the terms of the campaign exclude the person",
            ),
            (revoked, "revoked with its entry"),
        ] {
            assert_eq!(win.state_in_words(), words);
        }
    }
}
