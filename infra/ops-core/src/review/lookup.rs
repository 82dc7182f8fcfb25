//! Looks a typed receipt up at the tax authority. The console takes a slot of the queue's pace
//! itself: a slot is one conditional write to the record that all environments use, and an
//! operator's clock is not trusted. A request that `settle-receipts` carries out would take a
//! record, a message, polling, and rights to all three.

use common::app::lookup_throttle::SlotPermit;
use common::domain::receipt::judgement::{Judgement, judge};
use common::domain::receipt::payload::ReceiptKey;
use common::domain::receipt::record::FiscalRecord;
use common::upstream::tax_authority::answer::LookupAnswer;
use common::upstream::tax_authority::client::{Limits, TaxAuthority};
use tokio::time::Instant;

use crate::approvals::action;
use crate::prelude::*;

/// A reviewer waits for it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The queue may use every slot.
const SLOT_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub enum ReceiptLookup {
    Found(Box<FoundReceipt>),
    NotFound(LookupAnswer),
    /// No slot was free in time.
    Busy,
}

#[derive(Debug)]
pub struct FoundReceipt {
    pub record: FiscalRecord,
    /// By the campaign's rules; `None` if it has none for receipts.
    pub judgement: Option<Judgement>,
    /// Another submission that was accepted with the receipt.
    pub entered: Option<Submission>,
}

/// Codes of test receipts are not the tax authority's, which is the real one in both environments.
pub fn can_look_up(submission: &Submission) -> bool {
    submission.scope.environment == Environment::Live
}

/// Writes a row of the audit log first: a look-up tells what was bought.
pub async fn look_up(
    tables: &Tables,
    submission: &Submission,
    campaign: &Campaign,
    ReceiptKey { code, time }: ReceiptKey,
    clock: impl Fn() -> Timestamp,
) -> Result<ReceiptLookup> {
    if !can_look_up(submission) {
        bail!(
            "receipt_is_test",
            "the tax authority is not asked about a test receipt; decide it by hand"
        );
    }
    let time = time.ok_or_else(|| {
        failure!(
            "receipt_time_needed",
            "the tax authority is asked with the receipt's time; type it as 14:05:33"
        )
    })?;
    let limits = Limits {
        whole: ANSWER_TIMEOUT,
        ..Limits::default()
    };
    let authority = TaxAuthority::from_env(&tables.env, limits)?;
    let throttle = tables.lookup_throttle()?;
    let looked_up = action("submission.look_up", submission);
    tables.audit.append(looked_up, clock()).await?;
    let scope = &submission.scope;
    let seen = throttle.see().await?;
    let until = Instant::now() + SLOT_TIMEOUT;
    if throttle.acquire(scope, seen, until, clock).await? == SlotPermit::TooBusy {
        return Ok(ReceiptLookup::Busy);
    }
    let record = match authority.lookup(&code, time).await {
        LookupAnswer::Found(record) => *record,
        answer => return Ok(ReceiptLookup::NotFound(answer)),
    };
    let owner = tables.store.receipts().purchase(scope, &code).await?;
    let entered = match owner.filter(|owner| *owner != submission.submission_id) {
        Some(owner) => tables.submissions().get(scope, owner).await?,
        None => None,
    };
    let rules = campaign.receipt.as_ref();
    let judgement = rules.map(|rules| judge(&record, campaign, rules, submission.created_at));
    Ok(ReceiptLookup::Found(Box::new(FoundReceipt {
        record,
        judgement,
        entered,
    })))
}
