use crate::prelude::*;

pub const MAX_SUBMISSIONS: usize = 50;

const FACTS: &Columns = &[
    ("entries", "/entries"),
    ("today", "/submissions_today"),
    ("left today", "/left_today"),
    ("in total", "/submissions_total"),
    ("left in total", "/left_total"),
    ("pending receipts", "/open_receipts"),
    ("refused for wrong codes until", "/throttled_until"),
    ("blocked since", "/blocked/at"),
    ("blocked by", "/blocked/by"),
    ("blocked because", "/blocked/why"),
    ("unblocked at", "/unblocked/at"),
    ("unblocked by", "/unblocked/by"),
    ("unblocked because", "/unblocked/why"),
];

impl PersonRecords {
    /// The newest [`MAX_SUBMISSIONS`].
    pub fn shown_submissions(&self) -> impl Iterator<Item = &Submission> {
        self.submissions_alone().take(MAX_SUBMISSIONS)
    }

    pub(crate) fn as_json(&self, now: Timestamp) -> Value {
        let (entrant, limits) = (&self.entrant, self.campaign.limits);
        let left = |limit: Option<u32>, used| limit.map(|limit| limit.saturating_sub(used));
        let throttled_until = entrant
            .throttled_until
            .filter(|_| entrant.is_throttled(now));
        let submissions = self.shown_submissions().map(|submission| {
            json!({
                "id": submission.submission_id,
                "reference": submission.reference().to_string(),
                "state": submission.status.state(),
                "message_key": submission.status.message_key(),
                "day": submission.day,
            })
        });
        json!({
            "campaign": self.scope.campaign,
            "environment": self.scope.environment,
            "entries": entrant.entries,
            "submissions_today": entrant.today,
            "left_today": left(limits.phone_daily, entrant.today),
            "submissions_total": entrant.total,
            "left_total": left(limits.phone_total, entrant.total),
            "open_receipts": entrant.open_receipts,
            "blocked": self.blocked.as_ref().map(of_record),
            "unblocked": self.unblocked.as_ref().map(of_record),
            "throttled_until": throttled_until,
            "submissions": submissions.collect::<Vec<_>>(),
        })
    }

    pub fn facts(&self, now: Timestamp) -> Vec<(&'static str, String)> {
        facts(FACTS, &self.as_json(now), self.campaign.timezone)
    }
}
