use common::domain::receipt::schedule::LOOKUPS_PER_MINUTE;

use super::{Change, Plan};
use crate::pace::PartnerConcurrency;
use crate::prelude::*;

impl Plan {
    pub fn notes(&self, now: Timestamp, concurrency: PartnerConcurrency) -> Vec<String> {
        let Self {
            slug,
            after: campaign,
            ..
        } = self;
        let mut notes = Vec::new();
        if self.change != Change::Unchanged {
            if campaign.status(now) == CampaignStatus::Live && campaign.window.start.is_none() {
                notes.push(format!(
                    "{slug} has no window.start and is not paused, so it takes entries once it is applied; \
                     `ops campaign pause {slug}` stops it"
                ));
            }
            if let Some(partner) = &campaign.partner {
                notes.push(format!(
                    "{slug}: at most {} requests ask the partner at a time (partner.max_in_flight); the queue asks \
                     about the rest, {}",
                    partner.max_in_flight,
                    concurrency.rate(partner.timeout_seconds)
                ));
            }
            if campaign.receipt.is_some() {
                notes.push(format!(
                    "{slug}: receipts are looked up at the tax authority at {LOOKUPS_PER_MINUTE} a minute, {} an hour, for all \
                     campaigns of the deployment together; what comes faster waits",
                    grouped(LOOKUPS_PER_MINUTE * 60)
                ));
            }
        }
        notes.extend(self.lets_anyone_in());
        notes
    }

    pub fn lets_anyone_in(&self) -> Option<String> {
        let campaign = &self.after;
        let lets_in = !campaign.needs_code() && !campaign.needs_receipt();
        lets_in.then(|| {
            format!(
                "{} asks for neither a code nor a receipt: anyone can enter as often as its limits allow, with any number of \
                 phones; set code.checked_by, or add a receipt block with `required: true`",
                campaign.slug
            )
        })
    }
}
