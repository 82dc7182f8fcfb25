//! Two weeks of entries in the demo campaigns: what an operator sees of campaigns that run, and of one at its end.
//!
//! The records are written as the service writes them, but backdated. Numbers are counted from them like all others.

use std::time::Duration;

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use common::aws::Aws;
use common::aws::photos::{self, object_key};
use common::clock::Clock;
use common::config::Env;
use common::domain::campaign::{Campaign, PhoneLimits};
use common::domain::code_record::CodeKey;
use common::domain::entrant::{Entrant, PhoneChecks};
use common::domain::message::MessageKey;
use common::domain::phone::Phone;
use common::domain::receipt::checks::PhotoFault;
use common::domain::receipt::judgement::{Judgement, ReceiptVerdict, judge};
use common::domain::receipt::payload::ReceiptTime;
use common::domain::receipt::photo::{PhotoType, StoredPhoto};
use common::domain::receipt::record::{FiscalItem, FiscalRecord, Quantity};
use common::domain::receipt::{Receipt, Source};
use common::domain::scope::{CampaignSlug, Environment, Scope};
use common::domain::settling::PendingSettlement;
use common::domain::submission::transition::{Findings, Transition};
use common::domain::submission::{NewSubmission, OperatorDecision, Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;
use common::random;
use common::store::submission_writes::{RecordKeys, SubmissionWrite};
use ops_core::codes::mint::{MintRequest, mint};
use ops_core::failure::Failure;
use ops_core::settle::OPERATOR_DECISION;
use ops_core::tables::Tables;

use super::{DemoError, paper};
use crate::shops::shops;

const DAYS: u64 = 14;
/// How many of a thousand entries are made in each hour of the day, by the clocks of Dar es Salaam.
const HOURS: [u64; 24] = [
    8, 5, 3, 2, 3, 8, 20, 38, 46, 48, 50, 55, 66, 64, 52, 48, 50, 60, 75, 84, 80, 66, 45, 24,
];
const REGIONS: [&str; 6] = [
    "Dar es Salaam",
    "Mwanza",
    "Arusha",
    "Dodoma",
    "Mbeya",
    "Zanzibar",
];

/// Entries with codes, of which some were refused.
const CODE_ENTRIES: u64 = 1_400;
const CODES: u64 = 4_000;
const PRIZE_CODES: u64 = 60;
/// Entries of the campaign that has ended.
const LAST_ENTRIES: u64 = 300;
const RECEIPTS: u64 = 200;
/// The campaign whose entries are written last.
const LAST: &str = "mango-2025";
const PACKS: &str = "packs";
/// Receipts that wait for a person, each with a photo.
const WAITING: u64 = 100;
/// Why a photo is not read.
const UNREAD: PhotoFault = PhotoFault::NoQrCode;
/// The offset of fiscal devices.
const FISCAL_OFFSET: FixedOffset = FixedOffset::east_opt(3 * 3_600).expect("less than a day");

/// The contents of a receipt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goods {
    /// Products that take part, among others.
    TakePart,
    /// One that takes part under a name that the campaign does not know.
    Misnamed,
    /// A receipt of a trader that does not take part.
    OtherTrader,
}

/// Writes the entries, unless an earlier run did, which kept them in the data folder.
///
/// # Errors
/// If a table or storage does not answer.
pub async fn load(env: &Env, clock: &Clock) -> Result<(), DemoError> {
    let aws = Aws::for_function(env)?;
    let tables = Tables::from_env(env, &aws)?;
    let bucket = env.required(photos::VARIABLE)?;
    let mut seeds = Seeds {
        tables,
        aws,
        bucket,
        now: clock.now(),
        state: 0x9e37_79b9_7f4a_7c15,
    };
    if seeds.are_there().await? {
        return Ok(());
    }
    seeds
        .codes("soda-rush-2026", CODE_ENTRIES, Some("A crate of soda"))
        .await?;
    seeds.receipts("duka-kuu-2026").await?;
    seeds.codes(LAST, LAST_ENTRIES, None).await
}

struct Seeds {
    tables: Tables,
    aws: Aws,
    bucket: String,
    now: Timestamp,
    /// The state of a random generator that gives the same numbers in each run.
    state: u64,
}

impl Seeds {
    /// A number below `end`, by xorshift.
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % end
    }

    /// A time in the last two weeks of a campaign; later days have more.
    fn time(&mut self, campaign: &Campaign) -> Timestamp {
        const HOUR_MILLIS: u64 = 60 * 60 * 1_000;
        let last = campaign
            .window
            .end
            .filter(|end| *end < self.now)
            .unwrap_or(self.now);
        let midnight: Option<Timestamp> =
            format!("{}T00:00:00+03:00", last.day_in(campaign.timezone))
                .parse()
                .ok();
        let midnight = u64::try_from(midnight.unwrap_or(last).as_millis()).unwrap_or_default();
        loop {
            let age = self.below(DAYS).min(self.below(DAYS));
            let mut share = self.below(HOURS.iter().sum());
            let mut hour = 0;
            for of_hour in HOURS {
                if share < of_hour {
                    break;
                }
                share -= of_hour;
                hour += 1;
            }
            let of_day = hour * HOUR_MILLIS + self.below(HOUR_MILLIS);
            let at = (midnight + of_day).saturating_sub(age * 24 * HOUR_MILLIS);
            let at = Timestamp::from_millis(i64::try_from(at).unwrap_or(i64::MAX));
            // Today is not over.
            if at < last {
                return at;
            }
        }
    }

    async fn new_submission(&mut self, campaign: &Campaign) -> Result<NewSubmission, DemoError> {
        let scope = Scope {
            campaign: campaign.slug.clone(),
            environment: Environment::Live,
        };
        // Some phones enter often.
        let owner = self.below(900).min(self.below(1_800));
        let phone: Phone = format!("07{:08}", 12_000_000 + owner)
            .parse()
            .map_err(|_| unusable("phone"))?;
        let version = self
            .tables
            .secrets()
            .version_for_phones()
            .await
            .map_err(Failure::from)?;
        let (submission_id, created_at) = (random::submission_id(), self.time(campaign));
        let region = usize::try_from(self.below(9))
            .ok()
            .and_then(|index| REGIONS.get(index));
        Ok(NewSubmission {
            submission_id,
            phone: version
                .secret
                .encrypt_phone(&scope, submission_id, &phone, random::bytes()),
            entrant_id: version.secret.consumer(&scope, phone).id,
            scope,
            region: region.map(ToString::to_string),
            claimed: None,
            consent: None,
            day: created_at.day_in(campaign.timezone),
            created_at,
            request_id: Some(format!("demo-{submission_id}")),
        })
    }

    async fn campaign(&self, slug: &str) -> Result<Campaign, DemoError> {
        let slug: CampaignSlug = slug.parse().map_err(|_| unusable("slug"))?;
        let campaign = self.tables.campaign(&slug).await?;
        // The entries are spread over few phones.
        Ok(Campaign {
            limits: PhoneLimits::default(),
            ..campaign
        })
    }

    /// Entries with minted codes; with a prize, some win.
    async fn codes(
        &mut self,
        slug: &str,
        entries: u64,
        prize: Option<&str>,
    ) -> Result<(), DemoError> {
        const REFUSED: [MessageKey; 3] = [
            MessageKey::Invalid,
            MessageKey::AlreadyUsed,
            MessageKey::RateLimited,
        ];
        let campaign = self.campaign(slug).await?;
        let scope = Scope {
            campaign: campaign.slug.clone(),
            environment: Environment::Live,
        };
        let mut next = self.batch(&scope, PACKS, CODES, None).await?;
        let mut next_prize = match prize {
            Some(_) => {
                self.batch(&scope, "winning-packs", PRIZE_CODES, prize)
                    .await?
            }
            None => 0,
        };
        for _ in 0..entries {
            let new = self.new_submission(&campaign).await?;
            let wins = prize.filter(|_| self.below(60) == 0);
            if self.below(7) == 0 {
                let index =
                    usize::try_from(self.below(9).min(self.below(9)) / 3).unwrap_or_default();
                let key = REFUSED.get(index).copied().unwrap_or(MessageKey::Invalid);
                self.write(
                    Submission::new(new, SubmissionStatus::rejected(key)),
                    None,
                    &campaign,
                )
                .await?;
                continue;
            }
            let (serial, batch) = match wins {
                Some(_) => (&mut next_prize, "winning-packs"),
                None => (&mut next, PACKS),
            };
            let key = CodeKey::Minted(*serial);
            *serial += 1;
            let status = SubmissionStatus::accepted(
                campaign.entries_per_submission,
                wins.map(str::to_owned),
            );
            let submission = Submission {
                code_key: Some(key.in_scope(&scope)),
                batch: Some(batch.to_owned()),
                ..Submission::new(new, status)
            };
            self.write(submission, Some(&key), &campaign).await?;
        }
        Ok(())
    }

    async fn are_there(&self) -> Result<bool, DemoError> {
        let scope = Scope {
            campaign: self.campaign(LAST).await?.slug,
            environment: Environment::Live,
        };
        let book = self
            .tables
            .code_books
            .overview(&scope)
            .await
            .map_err(Failure::from)?;
        Ok(book.is_some_and(|book| book.batch(PACKS).is_some()))
    }

    /// Mints a batch, and returns the first serial number.
    async fn batch(
        &self,
        scope: &Scope,
        name: &str,
        count: u64,
        prize: Option<&str>,
    ) -> Result<u64, DemoError> {
        let first = self
            .tables
            .code_books
            .overview(scope)
            .await
            .map_err(Failure::from)?;
        let (batch, prize) = (Some(name.to_owned()), prize.map(str::to_owned));
        let request = MintRequest {
            count,
            prize,
            batch,
            ..MintRequest::default()
        };
        mint(
            &self.tables.code_books,
            scope,
            &request,
            &mut std::io::sink(),
        )
        .await?;
        Ok(first.map_or(0, |book| book.minted))
    }

    async fn receipts(&mut self, slug: &str) -> Result<(), DemoError> {
        let campaign = self.campaign(slug).await?;
        for number in 0..RECEIPTS {
            let (goods, is_torn) = match self.below(10) {
                0..7 => (Goods::TakePart, false),
                7 => (Goods::OtherTrader, false),
                _ => (Goods::TakePart, true),
            };
            let (waiting, record) = self.with_receipt(&campaign, number, goods, is_torn).await?;
            let by_hand = waiting
                .created_at
                .after(Duration::from_secs(600 + self.below(20_000)))
                .min(self.now);
            let settled = match is_torn {
                true => by_a_person(&judged(&waiting, None, &campaign)?, &record, by_hand)?,
                // Some shops have not reported the sale even two days later.
                false if number % 9 == 0 => applied(
                    &waiting,
                    &Transition::reject(MessageKey::ReceiptNotFound),
                    Findings::default(),
                    waiting
                        .created_at
                        .after(Duration::from_hours(48))
                        .min(self.now),
                )?,
                false => judged(&waiting, Some(&record), &campaign)?,
            };
            self.write(settled, None, &campaign).await?;
        }
        for number in RECEIPTS..RECEIPTS + WAITING {
            let is_torn = number % 5 > 1;
            let goods = if is_torn {
                Goods::TakePart
            } else {
                Goods::Misnamed
            };
            let (waiting, record) = self.with_receipt(&campaign, number, goods, is_torn).await?;
            let waiting = judged(&waiting, (!is_torn).then_some(&record), &campaign)?;
            self.write(waiting, None, &campaign).await?;
        }
        Ok(())
    }

    /// The tax authority's record of a purchase in the hours before a submission.
    fn record(
        &mut self,
        number: u64,
        goods: Goods,
        submitted_at: Timestamp,
    ) -> Result<FiscalRecord, DemoError> {
        let shop = shops()
            .into_iter()
            .nth(usize::from(self.below(3) == 0))
            .ok_or_else(|| unusable("shop"))?;
        let (trader, tin, serial) = match goods {
            Goods::OtherTrader => ("MWENGE MINI MARKET", "100200300", "03TZ343007777"),
            Goods::TakePart | Goods::Misnamed => (
                shop.trader.as_str(),
                shop.tin.as_str(),
                shop.serial.as_str(),
            ),
        };
        let mut items = vec![
            item("MKATE", 1, 150_000),
            item("SUKARI 1KG", 1 + self.below(2), 320_000),
        ];
        if goods == Goods::Misnamed {
            items.push(item("CHAI B. ROBO KILO", 1 + self.below(2), 250_000));
        } else {
            let index = usize::from(self.below(4) == 0);
            let product = shop.items.get(index).ok_or_else(|| unusable("product"))?;
            items.push(item(
                &product.description,
                1 + self.below(3),
                product.price_cents,
            ));
        }
        let bought_at: DateTime<Utc> = submitted_at.into();
        let seconds = i64::try_from(60 + self.below(3 * 3_600)).unwrap_or_default();
        let bought_at = (bought_at - TimeDelta::seconds(seconds)).with_timezone(&FISCAL_OFFSET);
        let total: i64 = items.iter().map(|item| item.amount_cents).sum();
        Ok(FiscalRecord {
            code: format!("DEMO{number:06}")
                .parse()
                .map_err(|_| unusable("receipt's code"))?,
            trader: Some(trader.to_owned()),
            tin: tin.to_owned(),
            vrn: None,
            serial: serial.to_owned(),
            uin: None,
            tax_office: None,
            receipt_number: number.to_string(),
            z_number: None,
            date: bought_at.date_naive(),
            time: ReceiptTime::from_typed(&bought_at.format("%H:%M:%S").to_string()).ok(),
            items,
            total_excl_cents: None,
            total_tax_cents: None,
            total_incl_cents: Some(total),
            void: None,
        })
    }

    /// A new submission with the photo of a receipt in storage, and the tax authority's record of that receipt.
    async fn with_receipt(
        &mut self,
        campaign: &Campaign,
        number: u64,
        goods: Goods,
        is_torn: bool,
    ) -> Result<(Submission, FiscalRecord), DemoError> {
        let new = self.new_submission(campaign).await?;
        let record = self.record(number, goods, new.created_at)?;
        let bytes = paper::photo(&record, !is_torn).map_err(|_| unusable("photo"))?;
        let (size_bytes, at) = (
            u64::try_from(bytes.len()).unwrap_or_default(),
            new.created_at,
        );
        let qr_payload = (!is_torn).then(|| paper::payload(&record));
        let receipt = Receipt {
            receipt_id: random::receipt_id(),
            scope: new.scope.clone(),
            source: Source::Photo {
                content_type: PhotoType::Png,
                size_bytes,
                qr_payload,
            },
            arrived: Some(StoredPhoto {
                bytes: size_bytes,
                photo_type: Some(PhotoType::Png),
                seen_at: at,
            }),
            attached_to: None,
            created_at: at,
        };
        self.tables
            .store
            .receipts()
            .create(&receipt, None)
            .await
            .map_err(Failure::from)?;
        let put = self
            .aws
            .s3()
            .put_object()
            .bucket(&self.bucket)
            .key(object_key(&new.scope, receipt.receipt_id));
        put.body(bytes.into())
            .send()
            .await
            .map_err(|_| unusable("photo"))?;
        let submission = Submission {
            receipt_id: Some(receipt.receipt_id),
            settling: Some(PendingSettlement::due_at(at, None)),
            ..Submission::new(new, SubmissionStatus::receipt_received())
        };
        Ok((submission, record))
    }

    async fn write(
        &self,
        submission: Submission,
        code: Option<&CodeKey>,
        campaign: &Campaign,
    ) -> Result<(), DemoError> {
        let key = format!("demo-{}", submission.submission_id)
            .parse()
            .map_err(|_| unusable("key"))?;
        let mut submission = submission;
        if submission.reasons.is_empty() {
            submission.reasons = vec![submission.status.message_key().as_str().to_owned()];
        }
        let receipt = submission.receipt_id;
        let write = SubmissionWrite {
            keys: RecordKeys {
                scope: &submission.scope,
                key: &key,
                entrant: &submission.entrant_id,
                code,
                receipt,
            },
            body_hash: "",
            submission: &submission,
        };
        let (store, at) = (&self.tables.store, submission.created_at);
        if submission.status.counts() {
            let (entrant, checks) = (Entrant::default(), PhoneChecks::default());
            store
                .create_admitted(write, &entrant, campaign, checks, at)
                .await
                .map_err(Failure::from)?;
        } else {
            store
                .create_rejected(write, None, at)
                .await
                .map_err(Failure::from)?;
        }
        Ok(())
    }
}

/// A submission after its first step: judged by the record, or waiting for a person if its photo cannot be read.
fn judged(
    waiting: &Submission,
    record: Option<&FiscalRecord>,
    campaign: &Campaign,
) -> Result<Submission, DemoError> {
    let at = waiting.created_at.after(Duration::from_secs(20));
    let Some(record) = record else {
        return applied(
            waiting,
            &Transition::Review(UNREAD.as_str()),
            Findings::default(),
            at,
        );
    };
    let rules = campaign
        .receipt
        .as_ref()
        .ok_or_else(|| unusable("campaign"))?;
    let Judgement { verdict, summary } = judge(record, campaign, rules, waiting.created_at);
    let transition = match verdict {
        ReceiptVerdict::Verified { entries } => Transition::Accept {
            entries,
            prize: None,
        },
        ReceiptVerdict::Declined(key, reason) => Transition::Reject {
            key,
            reason: Some(reason.as_str()),
        },
        ReceiptVerdict::Review(reason) => Transition::Review(reason.as_str()),
    };
    let is_declined = matches!(transition, Transition::Reject { .. });
    let purchase = (!is_declined).then(|| record.code.clone());
    applied(
        waiting,
        &transition,
        Findings {
            receipt: Some(summary),
            purchase,
            ..Findings::default()
        },
        at,
    )
}

/// Settled by a person, who read the code from the paper.
fn by_a_person(
    waiting: &Submission,
    record: &FiscalRecord,
    at: Timestamp,
) -> Result<Submission, DemoError> {
    let findings = Findings {
        purchase: Some(record.code.clone()),
        ..Findings::default()
    };
    let settled = applied(
        waiting,
        &Transition::Accept {
            entries: 1,
            prize: None,
        },
        findings,
        at,
    )?;
    let why = Some("read by eye".to_owned());
    Ok(Submission {
        reasons: vec![
            settled.status.message_key().as_str().to_owned(),
            OPERATOR_DECISION.to_owned(),
        ],
        decision: Some(OperatorDecision {
            by: "asha".to_owned(),
            at,
            why,
            confirmed: None,
            identity: None,
        }),
        ..settled
    })
}

/// A line of a receipt.
fn item(description: &str, count: u64, price_cents: i64) -> FiscalItem {
    let count = i64::try_from(count).unwrap_or(1);
    FiscalItem {
        description: description.to_owned(),
        quantity: Some(Quantity::from_thousandths(count * 1_000)),
        amount_cents: price_cents * count,
    }
}

fn applied(
    before: &Submission,
    transition: &Transition,
    findings: Findings,
    at: Timestamp,
) -> Result<Submission, DemoError> {
    before
        .apply(transition, findings, at)
        .map_err(|_| unusable("transition"))
}

fn unusable(what: &str) -> DemoError {
    DemoError::Refused(format!("the {what} of the demo entries cannot be used"))
}
