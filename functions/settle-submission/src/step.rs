//! One step of settling a submission: begin it, so that nobody else does; learn what there is to learn;
//! write down what follows, if the submission is still as it was.
//!
//! Every write is conditional on the submission's revision. Whoever dies in between leaves a step that is
//! due again once it is taken for lost; whoever comes second writes nothing.

use aws_sdk_dynamodb::Client;
use common::background::Finding;
use common::config::{self, ConfigError, Env};
use common::connection::Aws;
use common::domain::campaign::Campaign;
use common::domain::message::MessageKey;
use common::domain::moment::Moment;
use common::domain::receipt::payload::{ReceiptClaim, VerificationCode};
use common::domain::receipt::rules::ReceiptRules;
use common::domain::receipt::{Evidence, Receipt};
use common::domain::scope::Environment;
use common::domain::settling::{Begin, Hasten, Settling};
use common::domain::submission::Submission;
use common::error::Error;
use common::photos::Photos;
use common::settle_queue::Hint;
use common::store::campaigns::Campaigns;
use common::store::ledger::{Ledger, Settled};
use common::upstream::tax_authority::client::{Limits, TaxAuthority};

use crate::conclusion::{Conclusion, Next};
use crate::pace::{GAP, Pace};
use crate::photo::{Limits as PhotoLimits, PhotoReader, Unreadable};

/// The environment variable with the tax authority's base URL.
pub const TAX_AUTHORITY: &str = "TAX_AUTHORITY_URL";
/// The environment variable that names the program that reads photos, when it is not this one.
pub const PHOTO_READER: &str = "PHOTO_READER";
/// Tries to write a conclusion while the phone's wrong codes change.
const MOST_TRIES: u32 = 10;

/// Where submissions are settled.
pub(crate) struct Desk {
    ledger: Ledger,
    campaigns: Campaigns,
    photos: Photos,
    reader: PhotoReader,
    authority: TaxAuthority,
    pace: Pace,
    hasten: Hasten,
}

impl Desk {
    /// Connects to what the environment names.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub(crate) fn from_env(env: &Env, aws: &Aws, dynamodb: &Client) -> Result<Self, ConfigError> {
        let hasten = config::hasten(env)?;
        let base = env.required(TAX_AUTHORITY)?;
        let authority = TaxAuthority::new(&base, Limits::default()).map_err(|_| ConfigError::Malformed {
            variable: TAX_AUTHORITY,
            expected: "a base URL such as https://verify.tra.go.tz",
        })?;
        Ok(Self {
            ledger: Ledger::from_env(env, dynamodb)?,
            campaigns: Campaigns::from_env(env, dynamodb)?,
            photos: Photos::from_env(env, aws)?,
            reader: photo_reader(env)?,
            authority,
            pace: Pace::new(hasten.apply(GAP)),
            hasten,
        })
    }

    /// Does the step that is due, if one is.
    ///
    /// # Errors
    /// When a table, storage or the photo reader fails; the step is then due again later.
    pub(crate) async fn step(&self, hint: &Hint, clock: impl Fn() -> Moment) -> Result<Finding, Error> {
        let found = self.ledger.submissions().get(&hint.scope, hint.submission_id).await?;
        let Some(submission) = found else { return Ok("unknown_submission".into()) };
        let Some(settling) = &submission.settling else { return Ok("settled_before".into()) };
        let now = clock();
        let settling = match settling.begin(now) {
            Begin::NotDue => return Ok("not_due".into()),
            Begin::GiveUp => {
                let surprise = Some("a step was begun again and again, and never finished".to_owned());
                let given_up = Conclusion { surprise, ..Next::Unanswered.into() };
                return self.conclude(submission.clone(), settling, given_up, now).await;
            }
            Begin::Go(begun) => begun,
        };
        let begun = Submission { settling: Some(settling.clone()), ..submission.changed(now) };
        match self.ledger.settle(&submission, &begun, None).await? {
            Settled::Done => {}
            Settled::Moved | Settled::PurchaseTaken | Settled::EntrantMoved => {
                return Ok("begun_by_another".into());
            }
        }
        let conclusion = self.learn(&begun, &settling, &clock).await?;
        self.conclude(begun, &settling, conclusion, clock()).await
    }

    /// Learns what there is to learn now.
    async fn learn(
        &self,
        submission: &Submission,
        settling: &Settling,
        clock: &impl Fn() -> Moment,
    ) -> Result<Conclusion, Error> {
        let campaign = self.campaigns.get(&submission.scope.campaign).await?;
        let campaign = campaign.ok_or_else(|| Error::internal("the campaign is not there"))?;
        let Some(receipt_id) = submission.receipt_id else {
            // Without a receipt, only a slow sentinel is settled later.
            return Ok(Next::Accept { entries: campaign.entries_per_submission, prize: None }.into());
        };
        let receipt = self.ledger.receipts().get(&submission.scope, receipt_id).await?;
        let receipt = receipt.ok_or_else(|| Error::internal("a submission's receipt is not there"))?;
        let claim = match receipt.source.evidence() {
            Evidence::Sentinel(sentinel) if submission.scope.environment == Environment::Test => {
                return Ok(Conclusion::of_sentinel(sentinel, &campaign, settling));
            }
            // A live receipt is never a sentinel: it was refused when it was made.
            Evidence::Sentinel(_) | Evidence::Impossible => {
                return Ok(Conclusion::reject(MessageKey::ReceiptNotFound, "receipt_code_impossible"));
            }
            Evidence::Claim(claim) => claim,
            Evidence::Photo => match self.read(&receipt).await? {
                Ok(claim) => claim,
                Err(conclusion) => return Ok(conclusion),
            },
        };
        self.look_up(submission, &campaign, claim, clock).await
    }

    /// Reads code and time out of a photo, or says what follows when they cannot be.
    async fn read(&self, receipt: &Receipt) -> Result<Result<ReceiptClaim, Conclusion>, Error> {
        let Some(photo) = self.photos.read(&receipt.scope, receipt.receipt_id).await? else {
            return Ok(Err(Conclusion::review("photo_missing")));
        };
        let payloads = match self.reader.read(&photo).await {
            Ok(payloads) => payloads,
            // A person can see more than a machine, but not in a file that is no picture.
            Err(Unreadable::NotDecoded(_)) => {
                return Ok(Err(Conclusion::reject(MessageKey::ReceiptUnreadable, "photo_not_decoded")));
            }
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

    async fn look_up(
        &self,
        submission: &Submission,
        campaign: &Campaign,
        claim: ReceiptClaim,
        clock: &impl Fn() -> Moment,
    ) -> Result<Conclusion, Error> {
        if submission.scope.environment == Environment::Test {
            return Ok(Conclusion::reject(MessageKey::ReceiptNotFound, "no_test_receipt"));
        }
        if self.is_anothers(submission, &claim.code).await? {
            return Ok(Next::Reject(MessageKey::ReceiptAlreadyUsed).into());
        }
        let Some(time) = claim.time else { return Ok(Conclusion::review("no_time_in_qr_code")) };
        let no_rules = ReceiptRules::default();
        let rules = campaign.receipt.as_ref().unwrap_or(&no_rules);
        self.pace.turn().await;
        let answer = self.authority.look_up(&claim.code, time).await;
        Ok(Conclusion::of_answer(answer, campaign, rules, submission, clock(), self.hasten))
    }

    /// Whether a purchase belongs to another submission: then nobody has to be asked.
    async fn is_anothers(&self, submission: &Submission, code: &VerificationCode) -> Result<bool, Error> {
        let owner = self.ledger.receipts().purchase(&submission.scope, code).await?;
        Ok(owner.is_some_and(|owner| owner != submission.submission_id))
    }

    /// Writes down what follows.
    async fn conclude(
        &self,
        before: Submission,
        settling: &Settling,
        mut conclusion: Conclusion,
        now: Moment,
    ) -> Result<Finding, Error> {
        for _ in 0..MOST_TRIES {
            let Ok(after) = conclusion.applied_to(&before, settling, now, self.hasten) else {
                return Ok("settled_before".into());
            };
            let settled = if conclusion.wrong_pair {
                let Submission { scope, phone, day, .. } = &before;
                let entrant = self.ledger.entrants().get(scope, phone, day).await?;
                let campaign = self.campaigns.get(&scope.campaign).await?;
                let campaign = campaign.ok_or_else(|| Error::internal("the campaign is not there"))?;
                let wrong = entrant.with_wrong_code(&campaign, now);
                self.ledger.settle(&before, &after, Some((&entrant, &wrong))).await?
            } else {
                self.ledger.settle(&before, &after, None).await?
            };
            match settled {
                Settled::Done => return Ok(conclusion.outcome().into()),
                Settled::Moved => return Ok("settled_by_another".into()),
                Settled::PurchaseTaken => {
                    let receipt = conclusion.receipt.take();
                    conclusion = Next::Reject(MessageKey::ReceiptAlreadyUsed).into();
                    conclusion.receipt = receipt;
                }
                Settled::EntrantMoved => {}
            }
        }
        Err(Error::internal("others kept changing the same records"))
    }
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
