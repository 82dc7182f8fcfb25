//! The winners in order: the first places of each tier, and the next place after each skip.

use std::collections::{HashMap, HashSet};

use common::aws::MAX_CONCURRENCY;
use common::domain::draw::Draw;
use common::domain::draw::contact::{Contact, ContactEvent, ContactStep, SkipReason};
use common::domain::scope::Scope;
use common::domain::submission::Submission;
use common::domain::timestamp::Timestamp;
use common::store::draws::MAX_ADDED;
use draw::{ALTERNATES, Committed, DrawResult, Opening, Place, TierResult};
use futures_util::{FutureExt, StreamExt, TryFutureExt, TryStreamExt, stream};

use super::certificate::log_differs;
use super::files::{DrawFiles, OPENINGS, Version};
use super::openings;
use crate::failure::Failure;
use crate::tables::Tables;

const MAX_TRIES: u32 = 10;

/// A frozen draw whose round is there.
pub(super) struct Drawing<'a> {
    pub(super) tables: &'a Tables,
    pub(super) scope: &'a Scope,
    pub(super) draw: &'a Draw,
    pub(super) committed: Committed,
    pub(super) result: DrawResult,
}

/// A contact to add, and the submission that it is made from.
type NewContact = (Contact, Option<Submission>);

/// The submission to call and its masked phone, or the reason why there is none.
type RowEntrant = Result<(Submission, String), SkipReason>;

impl Drawing<'_> {
    /// Draws until each prize has a winner, or every row has a place. Returns the new contacts.
    pub(super) async fn assign_winners(mut self, now: Timestamp) -> Result<Vec<Contact>, Failure> {
        let mut drawn = Vec::new();
        loop {
            let known = self.assign_published(&mut drawn, now).await?;
            if !self.runs_out(&known) {
                return Ok(drawn);
            }
            // Doubles the places, to do this rarely.
            let more = u64::try_from(known.len())
                .unwrap_or(u64::MAX)
                .max(ALTERNATES);
            self.result = self.committed.with_more_places(&self.result, more);
        }
    }

    /// Draws until the orders of the result end, and again if a contact or submission changes
    /// meanwhile. Returns all contacts.
    async fn assign_published(
        &self,
        drawn: &mut Vec<Contact>,
        now: Timestamp,
    ) -> Result<Vec<Contact>, Failure> {
        let (draws, name) = (&self.tables.draws, &self.draw.name);
        for _ in 0..MAX_TRIES {
            // Before the contacts, so that a change in between is noticed.
            let mut changes = super::find(self.tables, self.scope, name)
                .await?
                .contact_changes;
            let mut known = draws.contacts(self.scope, name).await?;
            self.check_without_entrant(&known).await?;
            let new = self.missing(&known, now).await?;
            let mut is_current = true;
            for new in new.chunks(MAX_ADDED) {
                // An erasure in the meantime would not find the contacts. A transaction names each
                // record once.
                let mut ids = HashSet::new();
                let submissions = new.iter().filter_map(|(_, submission)| submission.as_ref());
                let conditions = submissions
                    .filter(|submission| ids.insert(submission.submission_id))
                    .map(|submission| self.tables.store.submissions().unchanged_check(submission))
                    .collect();
                let contacts: Vec<_> = new.iter().map(|(contact, _)| contact.clone()).collect();
                is_current = draws
                    .add_contacts(self.scope, name, changes, &contacts, conditions)
                    .await?;
                if !is_current {
                    break;
                }
                changes = changes.saturating_add(1);
                drawn.extend_from_slice(&contacts);
                known.extend(contacts);
            }
            if is_current {
                return Ok(known);
            }
        }
        let message = "other operators keep changing the log of this draw; run this again, which draws the missing winners";
        Err(Failure::new("changed_meanwhile", message))
    }

    /// True if an order ends before its prizes have winners and all rows a place.
    fn runs_out(&self, contacts: &[Contact]) -> bool {
        let rows = self.committed.header().rows.get();
        (0..).zip(&self.result.tiers).any(|(tier, result)| {
            free_prizes(tier, result, contacts) > 0
                && u64::try_from(result.order.len()).is_ok_and(|places| places < rows)
        })
    }

    /// The contacts that are missing, those that the rules skip among them.
    async fn missing(&self, known: &[Contact], now: Timestamp) -> Result<Vec<NewContact>, Failure> {
        let now = super::step_time(known, now);
        let openings = self.openings().await?;
        let (mut all, mut new) = (known.to_vec(), Vec::new());
        for (tier, result) in (0..).zip(&self.result.tiers) {
            loop {
                let own = all.iter().filter(|contact| contact.tier == tier);
                let last = own.map(|contact| contact.place).max().unwrap_or(0);
                let free = free_prizes(tier, result, &all);
                let next = (1..)
                    .zip(&result.order)
                    .skip_while(|(place, _)| *place <= last)
                    .take(usize::try_from(free).unwrap_or(usize::MAX));
                let entrants = next.map(|(number, place)| {
                    let entrant = self.entrant(place.row, openings.get(&place.row));
                    entrant
                        .map_ok(move |entrant| (number, place, entrant))
                        .boxed()
                });
                let entrants: Vec<_> = stream::iter(entrants.collect::<Vec<_>>())
                    .buffered(MAX_CONCURRENCY)
                    .try_collect()
                    .await?;
                if entrants.is_empty() {
                    break;
                }
                for (number, place, entrant) in entrants {
                    let drawn = self.contact(tier, &result.name, (number, place), now);
                    let (mut contact, submission) = with_entrant(drawn, entrant, now);
                    let has_prize = |other: &Contact| other.row == place.row && other.holds_prize();
                    if self.committed.header().one_prize_per_row && all.iter().any(has_prize) {
                        contact = skipped(contact, SkipReason::HasPrize, now);
                    }
                    all.push(contact.clone());
                    new.push((contact, submission));
                }
            }
        }
        Ok(new)
    }

    /// Refuses contacts without an entrant whose entrant is there: changed without `ops`.
    pub(super) async fn check_without_entrant(&self, known: &[Contact]) -> Result<(), Failure> {
        let without: Vec<_> = known.iter().filter(|one| one.reference.is_none()).collect();
        if without.is_empty() {
            return Ok(());
        }
        let openings = self.openings().await?;
        for contact in without {
            let entrant = self.entrant(contact.row, openings.get(&contact.row));
            if entrant.await?.is_ok() {
                let difference = format!(
                    "place {} of {} is without its entrant, whose entry is kept",
                    contact.place, contact.prize
                );
                return Err(log_differs(self.draw, &difference));
            }
        }
        Ok(())
    }

    /// The openings of all rows that have a place in the result.
    async fn openings(&self) -> Result<HashMap<u64, Opening>, Failure> {
        let Draw {
            name, commitment, ..
        } = self.draw;
        let files = DrawFiles::new(self.tables, self.scope, name, commitment)?;
        let places = self.result.tiers.iter().flat_map(|tier| &tier.order);
        let rows: HashSet<_> = places.map(|place| place.row).collect();
        let Version {
            file, written_at, ..
        } = files.read_version(OPENINGS).await?;
        let openings = openings::read(self.draw, file, |row, _| rows.contains(&row))?;
        // Who sees the round must not be able to take a winner out. Erasures wait for the run.
        let is_first_run = self.draw.outcome.is_none();
        let missing = rows.iter().find(|row| !openings.contains_key(row));
        match missing.filter(|_| is_first_run && self.draw.round_at <= written_at) {
            Some(row) => Err(self.opening_removed(*row)),
            None => Ok(openings),
        }
    }

    fn contact(
        &self,
        tier: u32,
        prize: &str,
        (place, drawn): (u64, &Place),
        now: Timestamp,
    ) -> Contact {
        Contact {
            draw: self.draw.name.clone(),
            tier,
            prize: prize.to_owned(),
            place,
            row: drawn.row,
            reference: None,
            submission_id: None,
            region: None,
            masked_phone: None,
            steps: vec![ContactStep {
                at: now,
                by: None,
                event: ContactEvent::Drawn,
            }],
            revision: 0,
        }
    }

    /// The entrant of a row. An erasure removes the opening, retention only the phones.
    async fn entrant(&self, row: u64, opening: Option<&Opening>) -> Result<RowEntrant, Failure> {
        let Some(opening) = opening else {
            return Ok(Err(SkipReason::Erased));
        };
        let entries = opening.references().iter();
        let entries: Vec<_> = entries
            .map(|reference| self.entry(row, reference))
            .collect();
        let entries: Vec<Submission> = stream::iter(entries)
            .buffered(MAX_CONCURRENCY)
            .try_collect()
            .await?;
        let first = entries.first().map(|entry| &entry.entrant_id);
        let mut others = entries
            .iter()
            .filter(|entry| Some(&entry.entrant_id) != first);
        if let Some(other) = others.next() {
            // An erasure is under way.
            if entries.iter().any(|entry| entry.phone.is_none()) {
                return Ok(Err(SkipReason::Erased));
            }
            let name = other.reference().to_string();
            return Err(self.row_differs(row, &name, "is of another entrant than the first"));
        }
        let Some(submission) = entries.into_iter().find(|entry| entry.phone.is_some()) else {
            return Ok(Err(SkipReason::PhoneDeleted));
        };
        match self.tables.secrets().phone_of(&submission).await {
            Ok(Some(phone)) => Ok(Ok((submission, phone.masked()))),
            Ok(None) => Ok(Err(SkipReason::PhoneDeleted)),
            Err(error) if error.is_unreadable() => {
                let name = submission.reference().to_string();
                Err(self.row_differs(row, &name, "has the phone of another submission"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A submission of an opening, which was accepted in the period and may be revoked since.
    async fn entry(&self, row: u64, name: &str) -> Result<Submission, Failure> {
        let differs = |why: &str| self.row_differs(row, name, why);
        let reference = name.parse().map_err(|_| differs("is no reference"))?;
        let submissions = self.tables.store.submissions();
        let found = match submissions.by_reference(self.scope, reference).await {
            Err(error) if error.is_unreadable() => return Err(differs("cannot be read")),
            found => found?.ok_or_else(|| differs("does not exist"))?,
        };
        let mut accepted = found.times_accepted();
        if accepted.any(|at| super::is_in_period(self.draw, at)) {
            drop(accepted);
            return Ok(found);
        }
        Err(differs("was not accepted in the period of the draw"))
    }

    fn opening_removed(&self, row: u64) -> Failure {
        let message = format!(
            "row {row} of the draw {} is among the winners and has no opening, and openings were written after the round; no \
             winner was drawn. Put the file back as it was at the freeze, and ask the administrator of the stack who \
             changed it",
            self.draw.name
        );
        Failure::new("openings_changed", message)
    }

    fn row_differs(&self, row: u64, reference: &str, why: &str) -> Failure {
        let message = format!(
            "row {row} of the draw {} has the entry {reference}, which {why}: its record is not as it was frozen. No winner was \
             drawn; ask the administrator of the stack who changed it",
            self.draw.name
        );
        Failure::new("row_differs", message)
    }
}

fn free_prizes(tier: u32, result: &TierResult, contacts: &[Contact]) -> u64 {
    let is_winner = |contact: &&Contact| contact.tier == tier && contact.holds_prize();
    let winners = contacts.iter().filter(is_winner).count();
    let winners = u64::try_from(winners).unwrap_or(u64::MAX);
    result.prizes.get().saturating_sub(winners)
}

fn with_entrant(drawn: Contact, entrant: RowEntrant, now: Timestamp) -> NewContact {
    let (submission, masked_phone) = match entrant {
        Ok(found) => found,
        Err(reason) => return (skipped(drawn, reason, now), None),
    };
    let contact = Contact {
        reference: Some(submission.reference()),
        submission_id: Some(submission.submission_id),
        region: submission.region.clone(),
        masked_phone: Some(masked_phone),
        ..drawn
    };
    (contact, Some(submission))
}

/// Skipped by the rules of the draw.
fn skipped(contact: Contact, reason: SkipReason, now: Timestamp) -> Contact {
    let event = ContactEvent::Skipped {
        reason,
        inspector: None,
    };
    // A contact that was just drawn can be skipped.
    let step = ContactStep {
        at: now,
        by: None,
        event,
    };
    contact.after(step).unwrap_or(contact)
}
