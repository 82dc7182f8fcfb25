//! One step of settling a submission: begin it, so that nobody else does; learn what there is to learn;
//! write down what follows, if the submission is still as it was.
//!
//! Every write is conditional on the submission's revision. Whoever dies in between leaves a step that is
//! due again once it is taken for lost; whoever comes second writes nothing.

use std::time::Duration;

use common::background::{Failed, Finding};
use common::config::{self, ConfigError, Env};
use common::connection::Aws;
use common::domain::campaign::Campaign;
use common::domain::message::MessageKey;
use common::domain::moment::Moment;
use common::domain::partner::course::{Asked, Blame, Pacing, Silence};
use common::domain::receipt::Evidence;
use common::domain::receipt::payload::{ReceiptClaim, VerificationCode};
use common::domain::receipt::photo::photo_digest;
use common::domain::scope::{Environment, Scope};
use common::domain::settling::{Begin, Counterpart, Hasten, LONGEST_STEP, Settling, Surprise, Turn};
use common::domain::submission::{State, Submission};
use common::entropy;
use common::error::Error;
use common::partner_desk::PartnerDesk;
use common::photos::Photos;
use common::settle_queue::{Hint, SettleQueue};
use common::store::StoreError;
use common::store::campaigns::Campaigns;
use common::store::ledger::{Ledger, Settled};
use common::store::turns::Turns;
use common::upstream::tax_authority::client::{Limits, TaxAuthority};

use crate::conclusion::{Conclusion, Next};
use crate::pace::{GAP, Pace};
use crate::photo::{Limits as PhotoLimits, PhotoReader, Unreadable};

/// The environment variable with the tax authority's base URL.
pub const TAX_AUTHORITY: &str = "TAX_AUTHORITY_URL";
/// The environment variable that names the program that reads photos, when it is not this one.
pub const PHOTO_READER: &str = "PHOTO_READER";
/// What is not learnt by then is not learnt: a step has to end before it is taken for lost.
const LONGEST_LEARNING: Duration = LONGEST_STEP.saturating_sub(Duration::from_secs(15));
/// All that asking a partner may take.
const LONGEST_QUESTION: Duration = Duration::from_secs(8);
/// A receipt that is older is looked up although its phone is throttled: wrong codes that a stranger sends under the
/// same number must not keep it waiting for good.
const MAX_THROTTLE_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// All that finding out whose turn it is may take; after it, the hinted submission has it.
const TURN_TIMEOUT: Duration = Duration::from_secs(3);
/// Between two sweeps, which find whatever is due later.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// What is still open after this is counted at every step.
const LONG: Duration = Duration::from_secs(60 * 60);
/// Why a step is given up that was begun again and again.
const NEVER_FINISHED: &str = "step_never_finished";

/// Where submissions are settled.
pub(crate) struct Desk {
    ledger: Ledger,
    campaigns: Campaigns,
    photos: Photos,
    reader: PhotoReader,
    authority: TaxAuthority,
    partners: PartnerDesk,
    pace: Pace,
    turns: Turns,
    tax_queue: SettleQueue,
    partner_queue: SettleQueue,
    hasten: Hasten,
}

impl Desk {
    /// Connects to what the environment names.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub(crate) fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let (hasten, dynamodb) = (config::hasten(env)?, aws.dynamodb());
        let base = env.required(TAX_AUTHORITY)?;
        let authority = TaxAuthority::new(&base, Limits::default()).map_err(|_| ConfigError::Malformed {
            variable: TAX_AUTHORITY,
            expected: "a base URL such as https://verify.tra.go.tz",
        })?;
        Ok(Self {
            ledger: Ledger::from_env(env, &dynamodb)?,
            campaigns: Campaigns::from_env(env, &dynamodb)?,
            photos: Photos::from_env(env, aws)?,
            reader: photo_reader(env)?,
            authority,
            partners: PartnerDesk::from_env(env, aws)?,
            pace: Pace::new(hasten.apply(GAP)),
            turns: Turns::from_env(env, &dynamodb)?,
            tax_queue: SettleQueue::of(Counterpart::TaxAuthority, env, aws)?,
            partner_queue: SettleQueue::of(Counterpart::Partner, env, aws)?,
            hasten,
        })
    }

    /// Which other campaign's submission has its turn at the tax authority before the hinted one: campaigns share the
    /// few look-ups in turns, one each, so that one with many receipts holds up no other's. None, too, when the tables
    /// do not say so in time: fairness is no reason not to settle.
    pub(crate) async fn next_in_turn(&self, hint: &Hint, now: Moment) -> Option<Hint> {
        let next = tokio::time::timeout(TURN_TIMEOUT, self.find_next_in_turn(hint, now)).await;
        next.ok().and_then(Result::ok).flatten()
    }

    async fn find_next_in_turn(&self, hint: &Hint, now: Moment) -> Result<Option<Hint>, StoreError> {
        // One that cannot be read is the step's to deal with.
        let Ok(Some(submission)) = self.ledger.submissions().get(&hint.scope, hint.submission_id).await
        else {
            return Ok(None);
        };
        let is_due = |settling: &Settling| {
            settling.counterpart == Counterpart::TaxAuthority && settling.begin(now) != Begin::NotDue
        };
        if !submission.settling.as_ref().is_some_and(is_due) {
            return Ok(None);
        }
        let last = self.turns.last().await?;
        let next = self.ledger.submissions().next_due(Counterpart::TaxAuthority, last.as_ref(), now).await?;
        // The index may not show the hinted one yet.
        let turn = |scope: &Scope| {
            let key = scope.key("");
            (last.as_ref().is_some_and(|last| key <= last.key("")), key)
        };
        let next = next.filter(|next| turn(&next.scope) < turn(&hint.scope));
        self.turns.take(next.as_ref().map_or(&hint.scope, |next| &next.scope), now).await?;
        Ok(next.map(|next| Hint { scope: next.scope, submission_id: next.submission_id }))
    }

    /// Sends the hint of a submission that is due and had to wait its turn; should it be lost, the sweep finds it.
    pub(crate) async fn hint_again(&self, hint: &Hint) {
        let _ = self.tax_queue.send(hint, Duration::ZERO).await;
    }

    /// Does the step that is due, if one is.
    ///
    /// # Errors
    /// When a table, storage or the photo reader fails; the step is then due again later.
    pub(crate) async fn step(&self, hint: &Hint, clock: impl Fn() -> Moment) -> Result<Finding, Failed> {
        let submissions = self.ledger.submissions();
        let found = match submissions.get(&hint.scope, hint.submission_id).await {
            Err(error) if error.is_unreadable() => {
                submissions
                    .postpone_unreadable(&hint.scope, hint.submission_id, clock(), self.hasten)
                    .await?;
                return Err(error.into());
            }
            found => found?,
        };
        let Some(submission) = found else { return Ok("unknown_submission".into()) };
        let Some(settling) = &submission.settling else { return Ok("settled_before".into()) };
        let now = clock();
        let settling = match settling.begin(now) {
            Begin::NotDue => return Ok("not_due".into()),
            Begin::GiveUp if submission.partner_code.is_some() => {
                // Asking kills nobody, so these were failures: it goes on like after a silence.
                let asked = Asked::Silent(Silence::unasked(NEVER_FINISHED, Blame::Service));
                return Ok(self.after_asking(&submission, &asked, None, now).await?);
            }
            Begin::GiveUp => {
                let before = settling.surprise.as_ref().map(|surprise| surprise.what.as_str());
                let surprise = Surprise {
                    what: format!(
                        "a step was begun again and again, and never finished; {}",
                        before.unwrap_or("nothing else")
                    ),
                    excerpt: settling.surprise.as_ref().and_then(|surprise| surprise.excerpt.clone()),
                };
                let unfinished = Some(NEVER_FINISHED);
                let given_up = Conclusion {
                    reason: unfinished,
                    surprise: Some(surprise),
                    obstacle: unfinished,
                    ..Next::Unanswered.into()
                };
                return Ok(self.conclude(submission.clone(), settling, given_up, now).await?);
            }
            Begin::Go(begun) => begun,
        };
        let begun = Submission { settling: Some(settling.clone()), ..submission.changed(now) };
        match self.ledger.settle(&submission, &begun, None).await? {
            Settled::Done => {}
            Settled::Moved | Settled::PurchaseTaken => return Ok("begun_by_another".into()),
        }
        if begun.partner_code.is_some() {
            return match self.ask_partner(&begun, &clock).await {
                // Should writing fail, the step is taken for lost, and remembered as one that may have arrived.
                Ok((asked, campaign)) => {
                    Ok(self.after_asking(&begun, &asked, Some(&campaign), clock()).await?)
                }
                Err(error) => {
                    // Nobody was asked. The step has ended, though badly, and goes on like after a silence.
                    let asked = Asked::Silent(Silence::service_failed());
                    let finding = self.after_asking(&begun, &asked, None, clock()).await?;
                    Err(Failed { error, figures: finding.figures })
                }
            };
        }
        let learning = tokio::time::timeout(LONGEST_LEARNING, self.learn(&begun, &clock)).await;
        match learning.unwrap_or_else(|_| Err(Error::internal("a step took too long"))) {
            Ok(conclusion) => Ok(self.conclude(begun, &settling, conclusion, clock()).await?),
            Err(error) => {
                // The step has ended, though badly; only one that kills goes without a new plan.
                let failed = Conclusion::of_failure(&begun, clock(), self.hasten);
                let finding = self.conclude(begun, &settling, failed, clock()).await?;
                Err(Failed { error, figures: finding.figures })
            }
        }
    }

    async fn campaign(&self, submission: &Submission) -> Result<Campaign, Error> {
        let campaign = self.campaigns.get(&submission.scope.campaign).await?;
        campaign.ok_or_else(|| Error::internal("the campaign is not there"))
    }

    /// Asks the partner. Should it fail, the partner was not asked.
    async fn ask_partner(
        &self,
        begun: &Submission,
        clock: &impl Fn() -> Moment,
    ) -> Result<(Asked, Campaign), Error> {
        let campaign = self.campaign(begun).await?;
        let asked = self.partners.ask(begun, &campaign, LONGEST_QUESTION, clock).await?;
        Ok((asked, campaign))
    }

    /// Writes down what follows from asking a partner, or from not having been able to.
    async fn after_asking(
        &self,
        before: &Submission,
        asked: &Asked,
        campaign: Option<&Campaign>,
        now: Moment,
    ) -> Result<Finding, Error> {
        let pacing = Pacing { now, hasten: self.hasten, chance: entropy::fraction() };
        let entries = campaign.map_or(0, |campaign| campaign.entries_per_submission);
        let Ok(after) = asked.applied_to(before, entries, pacing) else {
            return Ok("settled_before".into());
        };
        let wrong = campaign.filter(|_| asked.is_wrong_code());
        match self.ledger.settle(before, &after, wrong).await? {
            Settled::Done => {
                self.hint_soon(&after, now).await;
                Ok(with_age(finding(asked, &after), &after, now))
            }
            Settled::Moved | Settled::PurchaseTaken => Ok("settled_by_another".into()),
        }
    }

    /// Learns what there is to learn now.
    async fn learn(&self, submission: &Submission, clock: &impl Fn() -> Moment) -> Result<Conclusion, Error> {
        let campaign = self.campaign(submission).await?;
        let Some(receipt_id) = submission.receipt_id else {
            // Without a receipt, only a slow sentinel is settled later.
            return Ok(Next::Accept { entries: campaign.entries_per_submission, prize: None }.into());
        };
        let receipt = self.ledger.receipts().get(&submission.scope, receipt_id).await?;
        let receipt = receipt.ok_or_else(|| Error::internal("a submission's receipt is not there"))?;
        let Submission { scope, phone, day, .. } = submission;
        let entrant = self.ledger.entrants().get(scope, phone, day).await?;
        if entrant.blocked {
            return Ok(Next::Reject(MessageKey::Blocked).into());
        }
        let evidence = receipt.source.evidence();
        if submission.scope.environment == Environment::Test {
            // Nothing of a test is read or asked for.
            return Ok(match evidence {
                Evidence::Sentinel(sentinel) => {
                    Conclusion::of_sentinel(sentinel, &campaign, submission.standing.state())
                }
                Evidence::Claim(_) | Evidence::Photo | Evidence::Impossible => {
                    Conclusion::reject(MessageKey::ReceiptNotFound, "no_test_receipt")
                }
            });
        }
        let now = clock();
        match evidence {
            // A live receipt is never a sentinel: it was refused when it was made.
            Evidence::Sentinel(_) | Evidence::Impossible => {
                Ok(Conclusion::reject(MessageKey::ReceiptNotFound, "receipt_code_impossible"))
            }
            Evidence::Claim(claim) => {
                // Code and time that the caller sent may be guessed, and many submissions at once be as many guesses.
                let throttled = entrant.throttled_until.filter(|_| entrant.is_throttled(now));
                match throttled.filter(|_| now.since(submission.created_at) < MAX_THROTTLE_WAIT) {
                    Some(until) => {
                        let obstacle = Some("phone_throttled");
                        Ok(Conclusion { obstacle, ..Next::WaitUntil(until).into() })
                    }
                    None => self.look_up(submission, &campaign, claim, clock).await,
                }
            }
            Evidence::Photo => {
                let Some(photo) = self.photos.read(&receipt.scope, receipt.receipt_id).await? else {
                    return Ok(Conclusion::review("photo_missing"));
                };
                let conclusion = match self.read(&photo).await? {
                    Ok(claim) if claim.time.is_some() => {
                        let conclusion = self.look_up(submission, &campaign, claim, clock).await?;
                        // What the service reads itself is on a receipt, and no guess.
                        return Ok(Conclusion { wrong_pair: false, ..conclusion });
                    }
                    Ok(_) => Conclusion::review("no_time_in_qr_code"),
                    Err(conclusion) => conclusion,
                };
                self.compared(conclusion, submission, &photo, now).await
            }
        }
    }

    /// Reads code and time out of a photo, or says what follows when they cannot be.
    async fn read(&self, photo: &[u8]) -> Result<Result<ReceiptClaim, Conclusion>, Error> {
        let payloads = match self.reader.read(photo).await {
            Ok(payloads) => payloads,
            // A person can see more than a machine, but not in a file that is no picture.
            Err(Unreadable::NotDecoded(fault)) if fault.is_no_picture() => {
                return Ok(Err(Conclusion::reject(MessageKey::ReceiptUnreadable, fault.as_str())));
            }
            Err(Unreadable::NotDecoded(fault)) => return Ok(Err(Conclusion::review(fault.as_str()))),
            Err(Unreadable::NoQrCode) => return Ok(Err(Conclusion::review("no_qr_code"))),
            Err(Unreadable::TooSlow) => return Ok(Err(Conclusion::review("photo_too_slow"))),
            Err(Unreadable::Crashed) => return Ok(Err(Conclusion::review("photo_reader_crashed"))),
            Err(Unreadable::Io(cause)) => return Err(Error::internal(cause)),
        };
        let mut claims: Vec<_> =
            payloads.iter().filter_map(|payload| ReceiptClaim::from_payload(payload)).collect();
        // Any word can be a bare code, so those with a time are meant, when there are any.
        if claims.iter().any(|claim| claim.time.is_some()) {
            claims.retain(|claim| claim.time.is_some());
        }
        let Some(first) = claims.first().cloned() else {
            return Ok(Err(Conclusion::review("no_receipt_in_qr_codes")));
        };
        let several = claims.iter().any(|claim| claim.code != first.code);
        Ok(if several { Err(Conclusion::review("several_receipts_in_photo")) } else { Ok(first) })
    }

    /// Names the submission that sent the same photo before, where a person has to look at it.
    async fn compared(
        &self,
        conclusion: Conclusion,
        submission: &Submission,
        photo: &[u8],
        now: Moment,
    ) -> Result<Conclusion, Error> {
        if conclusion.next != Next::Review {
            return Ok(conclusion);
        }
        let (scope, id, digest) = (&submission.scope, submission.submission_id, photo_digest(photo));
        let receipts = self.ledger.receipts();
        let mut rejected = None;
        while let Some(earlier) = receipts.claim_photo(scope, &digest, id, rejected, now).await? {
            let found = self.ledger.submissions().get(scope, earlier).await?;
            match found.filter(|found| found.standing.state() != State::Rejected) {
                Some(found) => {
                    let what = format!("submission {} sent the same photo", found.reference);
                    let surprise = Some(Surprise { what, excerpt: None });
                    return Ok(Conclusion { surprise, ..Conclusion::review("photo_seen_before") });
                }
                None => rejected = Some(earlier),
            }
        }
        Ok(conclusion)
    }

    async fn look_up(
        &self,
        submission: &Submission,
        campaign: &Campaign,
        claim: ReceiptClaim,
        clock: &impl Fn() -> Moment,
    ) -> Result<Conclusion, Error> {
        let Some(time) = claim.time else { return Ok(Conclusion::review("no_time_in_qr_code")) };
        // The block was taken out of the campaign while this one waited.
        let Some(rules) = &campaign.receipt else {
            return Ok(Conclusion::review("campaign_without_receipts"));
        };
        self.pace.turn().await;
        let answer = self.authority.look_up(&claim.code, time).await;
        let conclusion = Conclusion::of_answer(answer, campaign, rules, submission, clock(), self.hasten);
        if conclusion.purchase.is_some() && self.is_anothers(submission, &claim.code).await? {
            // Told only to whoever knows the time.
            let receipt = conclusion.receipt;
            return Ok(Conclusion { receipt, ..Next::Reject(MessageKey::ReceiptAlreadyUsed).into() });
        }
        Ok(conclusion)
    }

    /// Whether a purchase belongs to another submission: then no person has to look at this one.
    async fn is_anothers(&self, submission: &Submission, code: &VerificationCode) -> Result<bool, Error> {
        let owner = self.ledger.receipts().purchase(&submission.scope, code).await?;
        Ok(owner.is_some_and(|owner| owner != submission.submission_id))
    }

    /// Hints at a next step that is so soon that the sweep would be late.
    async fn hint_soon(&self, submission: &Submission, now: Moment) {
        let Some(settling) = &submission.settling else { return };
        let wait = settling.planned_for().map(|planned| planned.since(now));
        let Some(wait) = wait.filter(|wait| *wait <= self.hasten.apply(SWEEP_EVERY)) else { return };
        let queue = match settling.counterpart {
            Counterpart::TaxAuthority => &self.tax_queue,
            Counterpart::Partner => &self.partner_queue,
        };
        let hint = Hint { scope: submission.scope.clone(), submission_id: submission.submission_id };
        // Should it be lost, the sweep finds the submission in the table.
        let _ = queue.send(&hint, wait).await;
    }

    /// Writes down what follows.
    async fn conclude(
        &self,
        before: Submission,
        settling: &Settling,
        mut conclusion: Conclusion,
        now: Moment,
    ) -> Result<Finding, Error> {
        loop {
            let Ok(after) = conclusion.applied_to(&before, settling, now, self.hasten) else {
                return Ok("settled_before".into());
            };
            let campaign = if conclusion.wrong_pair { Some(self.campaign(&before).await?) } else { None };
            match self.ledger.settle(&before, &after, campaign.as_ref()).await? {
                Settled::Done => {
                    self.hint_soon(&after, now).await;
                    let finding = conclusion.finding();
                    return Ok(if conclusion.is_hindered() {
                        with_age(finding, &after, now)
                    } else {
                        finding
                    });
                }
                Settled::Moved => return Ok("settled_by_another".into()),
                Settled::PurchaseTaken => {
                    // A rejection takes no purchase, so this comes once.
                    let receipt = conclusion.receipt.take();
                    conclusion = Next::Reject(MessageKey::ReceiptAlreadyUsed).into();
                    conclusion.receipt = receipt;
                }
            }
        }
    }
}

/// A finding that also tells of a submission that is old, and that something keeps from being settled.
fn with_age(mut finding: Finding, after: &Submission, now: Moment) -> Finding {
    let goes_on = after.settling.as_ref().is_some_and(|settling| settling.turn == Turn::Service);
    let is_old = now.since(after.created_at) >= LONG;
    finding.figures.extend((goes_on && is_old).then_some(("OpenForLong", 1)));
    finding
}

/// What there is to count of an answer of a partner.
fn finding(asked: &Asked, after: &Submission) -> Finding {
    let given_up = after.settling.as_ref().is_some_and(|settling| settling.turn == Turn::Person);
    let mut figures = asked.figures();
    figures.extend(given_up.then_some(("LeftToAPerson", 1)));
    let outcome = match asked {
        Asked::Decided(_) if given_up => "unanswered",
        Asked::Decided(verdict) => verdict.outcome.as_str(),
        Asked::Silent(silence) => silence.why,
        Asked::Spared(_) => "partner_spared",
    };
    Finding { outcome, figures }
}

/// The reader of photos: another program where the environment names one, else this one.
fn photo_reader(env: &Env) -> Result<PhotoReader, ConfigError> {
    let limits = PhotoLimits::default();
    match env.optional(PHOTO_READER) {
        Some(program) => Ok(PhotoReader::program(program, &[], limits)),
        None => PhotoReader::this_program(limits).map_err(|_| ConfigError::Malformed {
            variable: PHOTO_READER,
            expected: "set, because this program cannot tell where it is itself",
        }),
    }
}

/// Whether the text of a QR code is all that a look-up needs.
pub(crate) fn is_receipt(payload: &str) -> bool {
    ReceiptClaim::from_payload(payload).is_some_and(|claim| claim.time.is_some())
}

#[cfg(test)]
mod tests;
