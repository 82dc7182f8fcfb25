//! Answers that a reviewer gave and can still take back.

use std::time::Duration;

use common::domain::ids::SubmissionId;
use common::domain::timestamp::Timestamp;

use crate::settle::Verdict;

/// How long an answer can be taken back.
pub const UNDO_WINDOW: Duration = Duration::from_secs(8);

/// A reviewer's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewDecision {
    /// What it is about.
    pub submission_id: SubmissionId,
    /// The revision that the reviewer saw. An answer to another one is not written.
    pub revision: u32,
    /// Whether the reviewer was told that the answer is only compared with a decision.
    pub is_second_look: bool,
    /// What it is.
    pub verdict: Verdict,
}

/// The answers of one screen that are not written yet, the earliest first.
#[derive(Debug, Default)]
pub struct UndoableDecisions(Vec<(Timestamp, ReviewDecision)>);

impl UndoableDecisions {
    /// Holds an answer, instead of an earlier one about the same submission.
    pub fn hold(&mut self, answer: ReviewDecision, now: Timestamp) {
        self.take_back(answer.submission_id);
        self.0.push((now.after(UNDO_WINDOW), answer));
    }

    /// Takes an answer back; `None` if it is written, or being written.
    pub fn take_back(&mut self, id: SubmissionId) -> Option<ReviewDecision> {
        let place = self.0.iter().position(|(_, answer)| answer.submission_id == id)?;
        Some(self.0.remove(place).1)
    }

    /// Takes out the answers whose time to be taken back is over.
    pub fn due(&mut self, now: Timestamp) -> Vec<ReviewDecision> {
        let due = self.0.extract_if(.., |(until, _)| *until <= now);
        due.map(|(_, answer)| answer).collect()
    }

    /// Takes out all answers, to write them before the screen ends.
    pub fn all(&mut self) -> Vec<ReviewDecision> {
        self.due(Timestamp::MAX)
    }

    /// What the answers are about.
    pub fn ids(&self) -> Vec<SubmissionId> {
        self.0.iter().map(|(_, answer)| answer.submission_id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::domain::message::MessageKey;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    fn answer(number: u8) -> ReviewDecision {
        let verdict = Verdict::Reject(MessageKey::ReceiptUnreadable);
        ReviewDecision {
            submission_id: SubmissionId::from_random([number; 24]),
            revision: 0,
            is_second_look: false,
            verdict,
        }
    }

    #[test]
    fn an_answer_is_due_eight_seconds_later_and_not_before() {
        let mut held = UndoableDecisions::default();
        held.hold(answer(1), NOW);
        held.hold(answer(2), NOW.after(Duration::from_secs(1)));
        assert_eq!(held.due(NOW.after(UNDO_WINDOW - Duration::from_millis(1))), []);
        assert_eq!(held.due(NOW.after(UNDO_WINDOW)), [answer(1)]);
        assert_eq!(held.all(), [answer(2)]);
        assert_eq!(held.all(), []);
    }

    #[test]
    fn an_answer_is_taken_back_once_and_only_until_it_is_due() {
        let mut held = UndoableDecisions::default();
        held.hold(answer(1), NOW);
        assert_eq!(held.take_back(answer(1).submission_id), Some(answer(1)));
        assert_eq!(held.take_back(answer(1).submission_id), None);
        held.hold(answer(1), NOW);
        assert_eq!(held.due(NOW.after(UNDO_WINDOW)).len(), 1);
        assert_eq!(held.take_back(answer(1).submission_id), None);
    }

    #[test]
    fn a_second_answer_replaces_the_first_and_starts_its_time_again() {
        let mut held = UndoableDecisions::default();
        held.hold(answer(1), NOW);
        let later = NOW.after(Duration::from_secs(5));
        held.hold(
            ReviewDecision { verdict: Verdict::Reject(MessageKey::ReceiptNotFound), ..answer(1) },
            later,
        );
        assert_eq!(held.due(NOW.after(UNDO_WINDOW)), []);
        let [written] = &held.due(later.after(UNDO_WINDOW))[..] else { panic!("one answer") };
        assert_eq!(written.verdict, Verdict::Reject(MessageKey::ReceiptNotFound));
    }
}
