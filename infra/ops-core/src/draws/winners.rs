//! The winners in order: the first places of each tier, and the next place after each skip.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::TransactWriteItem;
use common::config::Env;
use common::domain::draw::Draw;
use common::domain::draw::contact::{Contact, ContactEvent, ContactStep, SkipReason};
use common::domain::ids::{Reference, SubmissionId};
use common::domain::scope::Scope;
use common::domain::submission::Submission;
use common::domain::timestamp::Timestamp;
use common::store::draws::MAX_ADDED;
use draw::{DrawResult, Header, Opening, Place, TierResult};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::files::DrawFiles;
use super::openings;
use crate::failure::Failure;
use crate::tables::Tables;

/// Tries to draw while other operators change the log too.
const MAX_TRIES: u32 = 10;
/// Rows that are looked up at a time.
const MAX_CONCURRENCY: usize = 16;

/// A draw with its result, and the openings of all rows that have a place in it.
pub(crate) struct Winners<'a> {
    tables: &'a Tables,
    scope: &'a Scope,
    draw: &'a Draw,
    header: Header,
    result: DrawResult,
    files: DrawFiles,
    openings: HashMap<u64, Opening>,
}

/// Contacts to add, and the submissions that they are made from.
struct Missing {
    contacts: Vec<Contact>,
    submissions: HashMap<SubmissionId, Submission>,
}

/// The entrant of a row, if we still know it.
enum RowEntrant {
    Found(Box<Person>),
    Gone(SkipReason),
}

struct Person {
    reference: Reference,
    submission: Submission,
    masked_phone: String,
}

impl<'a> Winners<'a> {
    pub(crate) async fn open(
        tables: &'a Tables,
        env: &Env,
        scope: &'a Scope,
        draw: &'a Draw,
        result: DrawResult,
    ) -> Result<Self, Failure> {
        let files = DrawFiles::new(tables, env, scope, &draw.name, &draw.commitment)?;
        let openings = openings(&files, &result).await?;
        Ok(Self {
            tables,
            scope,
            draw,
            header: super::header(draw)?,
            result,
            files,
            openings,
        })
    }

    /// Draws until each tier has as many winners as prizes, or its order ends, and returns the new contacts. At the same time,
    /// another operator may change the log, or a winner may be erased: then the rest follows from what is there now.
    pub(crate) async fn draw(&mut self, now: Timestamp) -> Result<Vec<Contact>, Failure> {
        let (draws, name, mut drawn) = (&self.tables.draws, &self.draw.name, Vec::new());
        for _ in 0..MAX_TRIES {
            // Before the contacts, so that a change in between is noticed.
            let mut changes = super::find(self.tables, self.scope, name)
                .await?
                .contact_changes;
            let known = draws.contacts(self.scope, name).await?;
            let missing = self.missing(&known, now).await?;
            let mut is_current = true;
            for contacts in missing.contacts.chunks(MAX_ADDED) {
                let conditions = self.conditions(contacts, &missing.submissions)?;
                is_current = draws
                    .add_contacts(self.scope, name, changes, contacts, conditions)
                    .await?;
                if !is_current {
                    break;
                }
                changes = changes.saturating_add(1);
                drawn.extend_from_slice(contacts);
            }
            if is_current {
                return Ok(drawn);
            }
            self.openings = openings(&self.files, &self.result).await?;
        }
        let message = "other operators keep changing the log of this draw; run this again, which draws the missing winners";
        Err(Failure::new("changed_meanwhile", message))
    }

    /// The contacts that are missing until each tier has as many winners as prizes, or its order ends. Rows that the rules
    /// skip are among them, with the reason.
    async fn missing(&self, known: &[Contact], now: Timestamp) -> Result<Missing, Failure> {
        let mut all = Missing {
            contacts: known.to_vec(),
            submissions: HashMap::new(),
        };
        for (tier, result) in (0..).zip(&self.result.tiers) {
            self.fill(tier, result, &mut all, now).await?;
        }
        Ok(Missing {
            contacts: all.contacts.split_off(known.len()),
            ..all
        })
    }

    /// Conditions that the submissions of these contacts are unchanged: an erasure in the meantime would not find the
    /// contacts.
    fn conditions(
        &self,
        contacts: &[Contact],
        submissions: &HashMap<SubmissionId, Submission>,
    ) -> Result<Vec<TransactWriteItem>, Failure> {
        // A transaction names each record once, and an entrant can have a place in several tiers.
        let ids: HashSet<_> = contacts
            .iter()
            .filter_map(|contact| contact.submission_id)
            .collect();
        let read = ids.iter().filter_map(|id| submissions.get(id));
        let table = self.tables.store.submissions();
        read.map(|submission| Ok(table.unchanged_check(submission)?))
            .collect()
    }

    /// Whether an order ends before its prizes have winners, while there are more rows.
    pub(crate) fn runs_out(&self, contacts: &[Contact]) -> bool {
        (0..).zip(&self.result.tiers).any(|(tier, result)| {
            let winners = contacts
                .iter()
                .filter(|contact| contact.tier == tier && contact.holds_prize())
                .count();
            let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
            count(winners) < result.prizes.get()
                && count(result.order.len()) < self.header.rows.get()
        })
    }

    async fn fill(
        &self,
        tier: u32,
        result: &TierResult,
        Missing {
            contacts,
            submissions,
        }: &mut Missing,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let of_tier = |contacts: &[Contact]| -> (u64, u64) {
            let own = || contacts.iter().filter(|contact| contact.tier == tier);
            let winners = own().filter(|contact| contact.holds_prize()).count();
            let last = own().map(|contact| contact.place).max().unwrap_or(0);
            (u64::try_from(winners).unwrap_or(u64::MAX), last)
        };
        loop {
            let (winners, last) = of_tier(contacts);
            let free = result.prizes.get().saturating_sub(winners);
            let places = (1..)
                .zip(&result.order)
                .skip_while(|(place, _)| *place <= last);
            let next: Vec<(u64, Place)> = places
                .take(usize::try_from(free).unwrap_or(usize::MAX))
                .map(|(n, place)| (n, *place))
                .collect();
            if next.is_empty() {
                return Ok(());
            }
            let people = next.into_iter().map(async |(number, place)| {
                Ok::<_, Failure>((number, place, self.entrant(place.row).await?))
            });
            let people: Vec<_> = stream::iter(people)
                .buffered(MAX_CONCURRENCY)
                .try_collect()
                .await?;
            for (number, place, entrant) in people {
                if let RowEntrant::Found(person) = &entrant {
                    let submission = &person.submission;
                    submissions.insert(submission.submission_id, submission.clone());
                }
                let has_prize = self.header.one_prize_per_row
                    && contacts
                        .iter()
                        .any(|one| one.row == place.row && one.holds_prize());
                let contact = self.contact(tier, &result.name, (number, place.row), entrant, now);
                contacts.push(if has_prize {
                    skipped(contact, SkipReason::HasPrize, now)
                } else {
                    contact
                });
            }
        }
    }

    fn contact(
        &self,
        tier: u32,
        prize: &str,
        (place, row): (u64, u64),
        entrant: RowEntrant,
        now: Timestamp,
    ) -> Contact {
        let contact = Contact {
            draw: self.draw.name.clone(),
            tier,
            prize: prize.to_owned(),
            place,
            row,
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
        };
        match entrant {
            RowEntrant::Gone(reason) => skipped(contact, reason, now),
            RowEntrant::Found(person) => Contact {
                reference: Some(person.reference),
                submission_id: Some(person.submission.submission_id),
                region: person.submission.region,
                masked_phone: Some(person.masked_phone),
                ..contact
            },
        }
    }

    /// The entrant of a row: of all submissions that its opening names. An erasure removes the opening, retention only the
    /// phones.
    async fn entrant(&self, row: u64) -> Result<RowEntrant, Failure> {
        let Some(opening) = self.openings.get(&row) else {
            return Ok(RowEntrant::Gone(SkipReason::Erased));
        };
        let entries = opening
            .references()
            .iter()
            .map(|reference| self.entry(row, reference));
        let entries: Vec<Submission> = stream::iter(entries)
            .buffered(MAX_CONCURRENCY)
            .try_collect()
            .await?;
        let mut ids = entries.iter().map(|entry| &entry.entrant_id);
        let first = ids.next();
        if let Some(other) = entries
            .iter()
            .find(|entry| Some(&entry.entrant_id) != first)
        {
            // Of an erasure that is under way.
            if entries.iter().any(|entry| entry.phone.is_none()) {
                return Ok(RowEntrant::Gone(SkipReason::Erased));
            }
            return Err(self.row_differs(
                row,
                &other.reference().to_string(),
                "is of another entrant than the first",
            ));
        }
        let Some(submission) = entries.into_iter().find(|entry| entry.phone.is_some()) else {
            return Ok(RowEntrant::Gone(SkipReason::PhoneDeleted));
        };
        let reference = submission.reference();
        match self.tables.secrets().phone_of(&submission).await {
            Ok(Some(phone)) => {
                let masked_phone = phone.masked();
                Ok(RowEntrant::Found(Box::new(Person {
                    reference,
                    masked_phone,
                    submission,
                })))
            }
            Ok(None) => Ok(RowEntrant::Gone(SkipReason::PhoneDeleted)),
            Err(error) if error.is_unreadable() => Err(self.row_differs(
                row,
                &reference.to_string(),
                "has the phone of another submission",
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// A submission that an opening names. It was accepted in the period, though it can be revoked since.
    async fn entry(&self, row: u64, name: &str) -> Result<Submission, Failure> {
        let reference = name
            .parse()
            .map_err(|_| self.row_differs(row, name, "is no reference"))?;
        let found = match self
            .tables
            .store
            .submissions()
            .by_reference(self.scope, reference)
            .await
        {
            Err(error) if error.is_unreadable() => {
                return Err(self.row_differs(row, name, "cannot be read"));
            }
            found => found?,
        };
        let found = found.ok_or_else(|| self.row_differs(row, name, "does not exist"))?;
        if !found
            .times_accepted()
            .any(|at| super::is_in_period(self.draw, at))
        {
            return Err(self.row_differs(row, name, "was not accepted in the period of the draw"));
        }
        Ok(found)
    }

    /// A winner is what the frozen entries say, or there is none.
    fn row_differs(&self, row: u64, reference: &str, why: &str) -> Failure {
        let message = format!(
            "row {row} of the draw {} has the entry {reference}, which {why}: its record is not as it was frozen. No winner was \
             drawn; ask the administrator of the stack who changed it",
            self.draw.name
        );
        Failure::new("row_differs", message)
    }
}

/// The openings of all rows that have a place in a result.
async fn openings(
    files: &DrawFiles,
    result: &DrawResult,
) -> Result<HashMap<u64, Opening>, Failure> {
    let places = result.tiers.iter().flat_map(|tier| &tier.order);
    let rows: HashSet<_> = places.map(|place| place.row).collect();
    openings::of_rows(files.read_openings().await?.0, &rows)
}

/// Skipped by the rules of the draw.
fn skipped(contact: Contact, reason: SkipReason, now: Timestamp) -> Contact {
    let step = ContactStep {
        at: now,
        by: None,
        event: ContactEvent::Skipped {
            reason,
            inspector: None,
        },
    };
    // A contact that was just drawn can be skipped.
    contact.after(step).unwrap_or(contact)
}
