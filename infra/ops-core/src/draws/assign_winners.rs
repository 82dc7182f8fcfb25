//! The winners in order: the first places of each tier, and the next place after each skip.

use common::store::draws::MAX_ADDED;
use draw::{ALTERNATES, TierResult};
use futures_util::{FutureExt, TryFutureExt};

use super::certificate::log_differs;
use super::openings::Rows;
use super::prelude::*;
use super::run::recorded;

const MAX_TRIES: u32 = 10;

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

impl<'a> Drawing<'a> {
    /// A drawn draw, and its `result.json`.
    pub(super) fn recorded(
        tables: &'a Tables,
        scope: &'a Scope,
        draw: &'a Draw,
        committed: Committed,
    ) -> Result<(Self, String)> {
        let (result, json) = recorded(tables, draw, &committed)?;
        let drawing = Self {
            tables,
            scope,
            draw,
            committed,
            result,
        };
        Ok((drawing, json))
    }

    /// Draws until each prize has a winner, or every row has a place. Returns the new contacts.
    pub(super) async fn assign_winners(mut self, now: Timestamp) -> Result<Vec<Contact>> {
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
    ) -> Result<Vec<Contact>> {
        let (draws, name) = (&self.tables.draws, &self.draw.name);
        for _ in 0..MAX_TRIES {
            // Before the contacts, so that a change in between is noticed.
            let draw = super::find(self.tables, self.scope, name).await?;
            if draw.is_abandoned() {
                return Err(abandoned(&draw));
            }
            let mut changes = draw.contact_changes;
            let mut known = draws.contacts(self.scope, name).await?;
            let rows = self.rows(&known).await?;
            self.check_without_entrant(&known, &rows).await?;
            let new = self.missing(&known, &rows, now).await?;
            let mut is_current = true;
            for new in new.chunks(MAX_ADDED) {
                // An erasure in the meantime would not find the contacts. A transaction names each
                // record once.
                let mut ids = HashSet::new();
                let submissions = new.iter().filter_map(|(_, submission)| submission.as_ref());
                let conditions = submissions
                    .filter(|submission| ids.insert(submission.submission_id))
                    .map(|submission| self.tables.submissions().unchanged_check(submission))
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
        bail!(
            "changed_meanwhile",
            "other operators keep changing the log of this draw; run this again, which draws the missing winners"
        )
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
    async fn missing(
        &self,
        known: &[Contact],
        rows: &Rows,
        now: Timestamp,
    ) -> Result<Vec<NewContact>> {
        let now = super::step_time(known, now);
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
                    let entrant = self.entrant(place.row, rows);
                    entrant
                        .map_ok(move |entrant| (number, place, entrant))
                        .boxed()
                });
                let entrants = concurrently(entrants.collect::<Vec<_>>()).await?;
                if entrants.is_empty() {
                    break;
                }
                for (number, place, entrant) in entrants {
                    let has_prize = |other: &Contact| other.row == place.row && other.holds_prize();
                    let is_single = self.committed.header().one_prize_per_row;
                    let (entrant, reason) = match entrant {
                        Ok(_) if is_single && all.iter().any(has_prize) => {
                            (entrant.ok(), Some(SkipReason::HasPrize))
                        }
                        Ok(entrant) => (Some(entrant), None),
                        Err(reason) => (None, Some(reason)),
                    };
                    let skip = reason.map(|reason| ContactEvent::Skipped {
                        reason,
                        inspector: None,
                    });
                    let (submission, masked_phone) = entrant.unzip();
                    let step = |event| ContactStep {
                        at: now,
                        by: None,
                        event,
                    };
                    let contact = Contact {
                        draw: self.draw.name.clone(),
                        tier,
                        prize: result.name.clone(),
                        place: number,
                        row: place.row,
                        reference: submission.as_ref().map(Submission::reference),
                        submission_id: submission.as_ref().map(|one| one.submission_id),
                        region: submission.as_ref().and_then(|one| one.region.clone()),
                        masked_phone,
                        log: ContactLog {
                            steps: [Some(ContactEvent::Drawn), skip]
                                .into_iter()
                                .flatten()
                                .map(step)
                                .collect(),
                            revision: 0,
                        },
                    };
                    all.push(contact.clone());
                    new.push((contact, submission));
                }
            }
        }
        Ok(new)
    }

    /// Refuses contacts without an entrant who was in the draw: changed without `ops`.
    pub(super) async fn check_without_entrant(&self, known: &[Contact], rows: &Rows) -> Result<()> {
        for contact in known {
            let reason = match contact.state() {
                ContactState::Skipped { reason } => Some(reason),
                _ => None,
            };
            let is_without = matches!(reason, Some(SkipReason::Erased | SkipReason::PhoneDeleted));
            if !is_without && contact.reference.is_some() {
                continue;
            }
            // Clearing test data erases all openings at once.
            let is_early = rows.is_early(contact.row)
                || !self.scope.environment.is_live()
                || !self.is_of_run(contact, known);
            let is_explained = match (self.entrant(contact.row, rows).await?, reason) {
                (Ok(_), _) => false,
                (Err(_), Some(SkipReason::Erased)) => is_early,
                (Err(_), Some(SkipReason::PhoneDeleted)) => {
                    self.has_retention_deleted_phones(rows).await?
                }
                (Err(_), _) => false,
            };
            if !is_explained || contact.reference.is_some() {
                let difference = format!(
                    "place {} of {} is without its entrant, who was in the draw",
                    contact.place, contact.prize
                );
                return Err(log_differs(self.draw, &difference));
            }
        }
        Ok(())
    }

    /// True if the run filled this place, when only erasures from before the round counted: fewer
    /// winners than prizes were before it.
    fn is_of_run(&self, contact: &Contact, known: &[Contact]) -> bool {
        let is_by_rule = |other: &Contact| {
            let last = other.steps.last();
            last.is_some_and(|step| step.by.is_none() && step.event != ContactEvent::Drawn)
        };
        let before = known.iter().filter(|other| {
            (other.tier == contact.tier && other.place < contact.place) && !is_by_rule(other)
        });
        let tier = usize::try_from(contact.tier).ok();
        let result = tier.and_then(|tier| self.result.tiers.get(tier));
        let prizes = result.and_then(|result| usize::try_from(result.prizes.get()).ok());
        prizes.is_none_or(|prizes| before.count() < prizes)
    }

    /// The rows that have a place in the result, or are among these contacts.
    pub(super) async fn rows(&self, known: &[Contact]) -> Result<Rows> {
        let places = self.result.tiers.iter().flat_map(|tier| &tier.order);
        let rows = places.map(|place| place.row);
        let rows = rows
            .chain(known.iter().map(|contact| contact.row))
            .collect();
        Rows::read(self.tables, self.scope, self.draw, &self.committed, &rows).await
    }

    /// The entrant of a row. An erasure removes the opening first, then the phones; retention only
    /// the phones.
    async fn entrant(&self, row: u64, rows: &Rows) -> Result<RowEntrant> {
        let Some(opening) = rows.openings.get(&row) else {
            return Ok(Err(SkipReason::Erased));
        };
        let entries = opening.references().iter();
        let entries: Vec<_> = entries
            .map(|reference| self.entry(row, reference))
            .collect();
        let entries = concurrently(entries).await?;
        let differs = |entry: &Submission, why: &str| {
            Err(self.row_differs(row, &entry.reference().to_string(), why))
        };
        let without_phone = entries.iter().find(|entry| entry.phone.is_none());
        if without_phone.is_some() && rows.erasure(row).is_some() {
            return Ok(Err(SkipReason::Erased));
        }
        let first = entries.first().map(|entry| &entry.entrant_id);
        let is_other = |entry: &&Submission| Some(&entry.entrant_id) != first;
        let with_phone = entries.iter().find(|entry| entry.phone.is_some());
        match (with_phone, without_phone, entries.iter().find(is_other)) {
            (None, Some(entry), _) if !self.has_retention_deleted_phones(rows).await? => {
                let why = "has no phone, though neither the campaign's retention nor an erasure of this row has taken it";
                differs(entry, why)
            }
            (_, _, Some(other)) => differs(other, "is of another entrant than the first"),
            (None, _, None) => Ok(Err(SkipReason::PhoneDeleted)),
            (Some(entry), _, None) => match self.tables.secrets().phone_of(entry).await {
                Ok(Some(phone)) => Ok(Ok((entry.clone(), phone.masked()))),
                Ok(None) => differs(entry, "has no phone"),
                Err(error) if error.is_unreadable() => {
                    differs(entry, "has the phone of another submission")
                }
                Err(error) => Err(error.into()),
            },
        }
    }

    /// True if the retention deleted phones of the scope since the list was published, when each
    /// row had one. Only a function of the service writes that, by its own clock.
    async fn has_retention_deleted_phones(&self, rows: &Rows) -> Result<bool> {
        let Scope {
            campaign,
            environment,
        } = self.scope;
        let retention = self.tables.retention.get(campaign).await?.value;
        Ok(retention.deletions.iter().any(|deletion| {
            (deletion.environment, deletion.data) == (*environment, PersonalData::Phones)
                && deletion.done > 0
                && deletion
                    .finished_at
                    .is_none_or(|at| rows.published_at <= at)
        }))
    }

    /// A submission of an opening, which was accepted in the period and may be revoked since.
    async fn entry(&self, row: u64, name: &str) -> Result<Submission> {
        let differs = |why: &str| self.row_differs(row, name, why);
        let reference = name.parse().map_err(|_| differs("is no reference"))?;
        let submissions = self.tables.submissions();
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

    fn row_differs(&self, row: u64, reference: &str, why: &str) -> Failure {
        failure!(
            "row_differs",
            "row {row} of the draw {} has the entry {reference}, which {why}: its record is not as it was frozen. No winner was \
             drawn; ask the administrator of the stack who changed it",
            self.draw.name
        )
    }
}

fn free_prizes(tier: u32, result: &TierResult, contacts: &[Contact]) -> u64 {
    let is_winner = |contact: &&Contact| contact.tier == tier && contact.holds_prize();
    let winners = contacts.iter().filter(is_winner).count();
    let winners = u64::try_from(winners).unwrap_or(u64::MAX);
    result.prizes.get().saturating_sub(winners)
}
