use std::time::Duration;

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use common::clock::Clock;
use common::config::Env;
use common::domain::contact_log::{ContactEvent, ContactStep, SkipReason};
use common::domain::draw::Operator;
use common::domain::receipt::judgement::{FISCAL_OFFSET, judge};
use common::domain::submission::approval::{Approval, ProposedChange};
use common::domain::submission::correction::Correction;
use common::domain::webhook::{EndpointStatus, SignatureKind};
use common::domain::{
    Campaign, CodeKey, Findings, FiscalItem, FiscalRecord, MessageKey, OperatorDecision,
    PendingSettlement, PhotoFault, PhotoType, Quantity, Receipt, ReceiptTime, Scope, Source,
    StoredPhoto, Submission, SubmissionStatus, Timestamp, Transition,
};
use common::random;
use ops_core::codes::mint::{MintRequest, mint};
use ops_core::settle::OPERATOR_DECISION;
use ops_core::webhooks::{self, NewEndpoint};

use super::past::Past;
use super::{DemoError, paper, unusable};
use crate::shops::SHOPS;
use crate::tax_portal::cases::{PURCHASED, Paper};
use crate::tax_portal::receipt;

const DAYS: u64 = 14;
const HOUR_MILLIS: u64 = 60 * 60 * 1_000;
const DAY_MILLIS: u64 = 24 * HOUR_MILLIS;
const REGIONS: [&str; 6] = [
    "Dar es Salaam",
    "Mwanza",
    "Arusha",
    "Dodoma",
    "Mbeya",
    "Zanzibar",
];

/// Refused ones included.
const CODE_ENTRIES: u64 = 1_400;
const CODES: u64 = 4_000;
const PRIZE: &str = "A crate of soda";
const PRIZE_CODES: u64 = 60;
const LAST_ENTRIES: u64 = 300;
const RECEIPTS: u64 = 200;
const LAST: &str = "mango-2025";
/// Nothing listens there.
const SILENT_URL: &str = "http://127.0.0.1:9/events";
const PACKS: &str = "packs";
const WINNING_PACKS: &str = "winning-packs";
/// Receipts that wait for a person, with photos.
const WAITING: u64 = 100;
const CALL_INTERVAL: Duration = Duration::from_mins(10);

/// Unless the data folder has them; tells of each campaign that has its own.
pub async fn load(env: &Env, clock: &Clock, told: impl Fn(&str)) -> Result<(), DemoError> {
    let past = Past::connect(env).await?;
    let (_, last) = past.campaign(LAST).await?;
    let book = past.tables.code_books.overview(&last).await?;
    if book.is_some_and(|book| book.batches.iter().any(|batch| batch.name == PACKS)) {
        return Ok(());
    }
    let mut entries = Entries {
        past,
        now: clock.now(),
        state: 0x9e37_79b9_7f4a_7c15,
    };
    let (codes, receipts) = ("soda-rush-2026", "duka-kuu-2026");
    entries.codes(codes, CODE_ENTRIES, Some(PRIZE)).await?;
    entries.call_winners(codes).await?;
    told(codes);
    entries.receipts(receipts).await?;
    told(receipts);
    entries.codes(LAST, LAST_ENTRIES, None).await?;
    told(LAST);
    entries.failing_webhook("bahati-2026").await
}

struct Entries {
    past: Past,
    now: Timestamp,
    state: u64,
}

impl Entries {
    /// By xorshift.
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % end
    }

    /// Later days have more, and afternoons more than nights.
    fn time(&mut self, campaign: &Campaign) -> Timestamp {
        let end = campaign.window.end.filter(|end| *end < self.now);
        let last = end.unwrap_or(self.now);
        let midnight = format!("{}T00:00:00+03:00", last.day_in(campaign.timezone));
        let midnight: Timestamp = midnight.parse().unwrap_or(last);
        let midnight = u64::try_from(midnight.as_millis()).unwrap_or_default();
        let age = self.below(DAYS).min(self.below(DAYS));
        let of_day = (0..3).map(|_| self.below(8 * HOUR_MILLIS)).sum::<u64>() + 2 * HOUR_MILLIS;
        let millis = (midnight + of_day).saturating_sub(age * DAY_MILLIS);
        let at = |millis| Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX));
        // Today is not over; another random number would change all later ones.
        match at(millis) {
            ahead if ahead >= last => at(millis.saturating_sub(DAY_MILLIS)),
            at => at,
        }
    }

    fn submission(&mut self, campaign: &Campaign, scope: &Scope) -> Result<Submission, DemoError> {
        // Some phones enter often.
        let phone = format!(
            "07{:08}",
            12_000_000 + self.below(900).min(self.below(1_800))
        );
        let (id, at) = (random::submission_id(), self.time(campaign));
        let region = usize::try_from(self.below(9)).ok();
        let region = region.and_then(|index| REGIONS.get(index)).copied();
        self.past
            .submission(scope, id, &phone, region, at, campaign)
    }

    async fn codes(
        &mut self,
        slug: &str,
        entries: u64,
        prize: Option<&str>,
    ) -> Result<(), DemoError> {
        let (campaign, scope) = self.past.campaign(slug).await?;
        let mut next = self.batch(&scope, PACKS, CODES, None).await?;
        let mut next_prize = match prize {
            Some(_) => {
                self.batch(&scope, WINNING_PACKS, PRIZE_CODES, prize)
                    .await?
            }
            None => 0,
        };
        // A request about the first prize.
        let (mut made, mut asks) = (Vec::new(), Some(()));
        for _ in 0..entries {
            let new = self.submission(&campaign, &scope)?;
            let wins = prize.filter(|_| self.below(60) == 0);
            if self.below(7) == 0 {
                let key = match self.below(9).min(self.below(9)) {
                    0..3 => MessageKey::Invalid,
                    3..6 => MessageKey::AlreadyUsed,
                    _ => MessageKey::RateLimited,
                };
                let status = SubmissionStatus::rejected(key);
                let refused = Submission { status, ..new };
                made.push((refused, None));
                continue;
            }
            let (serial, batch) = match wins {
                Some(_) => (&mut next_prize, WINNING_PACKS),
                None => (&mut next, PACKS),
            };
            let key = CodeKey::Minted(*serial);
            *serial += 1;
            let asked = wins.and_then(|_| asks.take());
            let approval = asked.map(|()| to_revoke(new.created_at));
            let won = wins.map(str::to_owned);
            let status = SubmissionStatus::accepted(campaign.entries_per_submission, won);
            let submission = Submission {
                code_key: Some(key.in_scope(&scope)),
                batch: Some(batch.to_owned()),
                status,
                approval,
                ..new
            };
            made.push((submission, Some(key)));
        }
        self.past.write_all(made, &campaign).await
    }

    async fn failing_webhook(&self, slug: &str) -> Result<(), DemoError> {
        let (_, scope) = self.past.campaign(slug).await?;
        let tables = &self.past.tables;
        let ago = |hours| self.now.before(Duration::from_hours(hours));
        let new = NewEndpoint {
            url: SILENT_URL.to_owned(),
            types: Vec::new(),
            signature: SignatureKind::V1,
        };
        let endpoint = webhooks::add(tables, &scope, new, ago(48)).await?.endpoint;
        let endpoints = &tables.webhook_endpoints;
        endpoints
            .set_status(&endpoint, EndpointStatus::Active, ago(4))
            .await?;
        endpoints.record_failure(&endpoint, ago(3)).await?;
        Ok(())
    }

    /// Some winners have got further than others.
    async fn call_winners(&self, slug: &str) -> Result<(), DemoError> {
        use ContactEvent::{HandedOver, Identified, NoAnswer, Reached};
        let (_, scope) = self.past.campaign(slug).await?;
        let wins = self.past.tables.wins();
        let lost = ContactEvent::Skipped {
            reason: SkipReason::Declined,
            inspector: Some("Neema".to_owned()),
        };
        let done = [Reached, Identified, HandedOver];
        let ways: [&[ContactEvent]; 7] = [
            &done,
            &done,
            &[NoAnswer, Reached, Identified],
            &[Reached, lost],
            &[NoAnswer, NoAnswer],
            &[Reached],
            &[NoAnswer],
        ];
        for (before, way) in wins.list(&scope).await?.into_iter().zip(ways) {
            let mut after = before.clone();
            for event in way {
                let at = after.step_time(before.accepted_at).after(CALL_INTERVAL);
                let by = Some(Operator {
                    who: "demo".to_owned(),
                    by: Some("asha".to_owned()),
                });
                let event = event.clone();
                let step = ContactStep { at, by, event };
                after = after.after(step).map_err(|_| unusable("winner"))?;
            }
            wins.log(&before, &after).await?;
        }
        Ok(())
    }

    async fn batch(
        &self,
        scope: &Scope,
        name: &str,
        count: u64,
        prize: Option<&str>,
    ) -> Result<u64, DemoError> {
        let books = &self.past.tables.code_books;
        let before = books.overview(scope).await?;
        let request = MintRequest {
            count,
            prize: prize.map(str::to_owned),
            batch: Some(name.to_owned()),
            ..MintRequest::default()
        };
        mint(books, scope, &request, &mut std::io::sink()).await?;
        Ok(before.map_or(0, |book| book.minted))
    }

    async fn receipts(&mut self, slug: &str) -> Result<(), DemoError> {
        let (campaign, scope) = self.past.campaign(slug).await?;
        let mut made = Vec::new();
        for number in 0..RECEIPTS + WAITING {
            let waits = number >= RECEIPTS;
            let (kind, is_torn) = match (waits, self.below(10)) {
                (true, 6..) => (Paper::Generic, false),
                (true, _) | (false, 8..) => (Paper::Wanted, true),
                (false, 7) => (Paper::OtherShop, false),
                (false, _) => (Paper::Wanted, false),
            };
            let new = self.submission(&campaign, &scope)?;
            let at = new.created_at;
            // Some shops never report the sale.
            let is_missing = !is_torn && !waits && number % 9 == 0;
            let record = self.record(kind, is_missing, at)?;
            let pending = self.pending(new, &record, is_torn).await?;
            let decided_at = at.after(Duration::from_secs(600 + self.below(20_000)));
            let settled = if is_torn {
                let transition = Transition::Review(PhotoFault::NoQrCode.as_str());
                let waiting = applied(&pending, &transition, Findings::default(), first_step(at))?;
                match waits {
                    true => waiting,
                    false => by_a_person(&waiting, &record, decided_at.min(self.now))?,
                }
            } else if is_missing {
                let transition = Transition::reject(MessageKey::ReceiptNotFound);
                let given_up_at = at.after(Duration::from_hours(48)).min(self.now);
                applied(&pending, &transition, Findings::default(), given_up_at)?
            } else {
                judged(&pending, &record, &campaign)?
            };
            made.push((settled, None));
        }
        self.past.write_all(made, &campaign).await
    }

    /// Some hours before a submission, as the simulated tax authority answers it.
    fn record(
        &mut self,
        kind: Paper,
        is_missing: bool,
        submitted_at: Timestamp,
    ) -> Result<FiscalRecord, DemoError> {
        let index = usize::from(self.below(3) == 0);
        let seconds = i64::try_from(60 + self.below(3 * 3_600)).unwrap_or_default();
        let bought_at = DateTime::<Utc>::from(submitted_at) - TimeDelta::seconds(seconds);
        record(
            kind,
            is_missing,
            index,
            bought_at.with_timezone(&FISCAL_OFFSET),
        )
    }
}

fn record(
    kind: Paper,
    is_missing: bool,
    shop: usize,
    bought_at: DateTime<FixedOffset>,
) -> Result<FiscalRecord, DemoError> {
    let prefix = match kind {
        _ if is_missing => "NONE",
        Paper::Generic => "GENR",
        Paper::OtherShop => "SHOP",
        _ => "GOOD",
    };
    let code = format!("{prefix}{:02}{}", shop + 1, bought_at.format(PURCHASED));
    let shop = SHOPS.get(shop).ok_or_else(|| unusable("shop"))?;
    let printed = receipt::Receipt::new(&code, shop, kind, bought_at.date_naive());
    let item = |line: &receipt::Line| FiscalItem {
        description: line.description.to_owned(),
        quantity: Quantity::parse(&line.quantity),
        amount_cents: line.amount_cents,
    };
    let (_, _, total_cents) = printed.totals();
    Ok(FiscalRecord {
        code: code.parse().map_err(|_| unusable("receipt's code"))?,
        trader: Some(printed.trader.to_owned()),
        tin: printed.tin.to_owned(),
        vrn: None,
        serial: printed.serial.to_owned(),
        uin: None,
        tax_office: None,
        receipt_number: printed.number().to_owned(),
        z_number: None,
        date: printed.date,
        time: ReceiptTime::from_typed(&bought_at.format("%H:%M:%S").to_string()).ok(),
        items: printed.lines.iter().map(item).collect(),
        total_excl_cents: None,
        total_tax_cents: None,
        total_incl_cents: Some(total_cents),
        void: None,
    })
}

impl Entries {
    async fn pending(
        &self,
        new: Submission,
        record: &FiscalRecord,
        is_torn: bool,
    ) -> Result<Submission, DemoError> {
        let qr_payload = (!is_torn).then(|| paper::payload(record));
        let photo = paper::photo(&paper::lines(record), qr_payload.as_deref());
        let photo = photo.map_err(|_| unusable("photo"))?;
        let (at, size_bytes) = (
            new.created_at,
            u64::try_from(photo.len()).unwrap_or_default(),
        );
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
        self.past.receipt(&receipt, Some(photo)).await?;
        Ok(Submission {
            receipt_id: Some(receipt.receipt_id),
            settling: Some(PendingSettlement::due_at(at, None)),
            status: SubmissionStatus::receipt_received(),
            ..new
        })
    }
}

fn to_revoke(created_at: Timestamp) -> Approval {
    Approval {
        change: ProposedChange::Correct(Correction::Revoke {
            free_code: false,
            keep_prize: false,
        }),
        decision: OperatorDecision {
            by: "neema".to_owned(),
            at: created_at.after(Duration::from_mins(40)),
            why: Some("the crate was sold open, with its code seen by others".to_owned()),
            confirmed: None,
            identity: None,
        },
    }
}

fn first_step(created_at: Timestamp) -> Timestamp {
    created_at.after(Duration::from_secs(20))
}

fn judged(
    pending: &Submission,
    record: &FiscalRecord,
    campaign: &Campaign,
) -> Result<Submission, DemoError> {
    let rules = campaign.receipt.as_ref();
    let rules = rules.ok_or_else(|| unusable("campaign"))?;
    let at = pending.created_at;
    let (transition, findings) = judge(record, campaign, rules, at).into_step(record);
    applied(pending, &transition, findings, first_step(at))
}

/// Settled by a person who read the code from the paper.
fn by_a_person(
    waiting: &Submission,
    record: &FiscalRecord,
    at: Timestamp,
) -> Result<Submission, DemoError> {
    let transition = Transition::Accept {
        entries: 1,
        prize: None,
    };
    let findings = Findings {
        purchase: Some(record.code.clone()),
        ..Findings::default()
    };
    let settled = applied(waiting, &transition, findings, at)?;
    Ok(Submission {
        reasons: vec![
            settled.status.message_key().as_str().to_owned(),
            OPERATOR_DECISION.to_owned(),
        ],
        decision: Some(OperatorDecision {
            by: "asha".to_owned(),
            at,
            why: Some("read by eye".to_owned()),
            confirmed: None,
            identity: None,
        }),
        ..settled
    })
}

fn applied(
    before: &Submission,
    transition: &Transition,
    findings: Findings,
    at: Timestamp,
) -> Result<Submission, DemoError> {
    let after = before.apply(transition, findings, at);
    after.map_err(|_| unusable("transition"))
}
