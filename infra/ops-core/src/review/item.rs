use common::domain::receipt::LookupSource;
use common::domain::receipt::checks::{Check, CheckResult, checks};
use common::domain::receipt::payload::ReceiptKey;

use super::photo::{PhotoCopier, ShownPhoto};
use super::queue::ClaimedSubmission;
use super::related::{RelatedSubmission, related};
use crate::prelude::*;
use crate::settle::prize;
use crate::submissions::record_disclosure;

#[derive(Clone, Debug)]
pub struct ReviewItem {
    pub submission: Submission,
    /// Settled: the answer is only compared with the hidden decision.
    pub is_spot_check: bool,
    pub campaign: Campaign,
    pub prize: Option<String>,
    pub receipt: Option<Receipt>,
    /// `None` if the receipt was typed.
    pub photo: Option<ShownPhoto>,
    /// Empty for a spot check, which must not show the verdict.
    pub checks: Vec<(Check, CheckResult)>,
    pub related: Vec<RelatedSubmission>,
}

impl ReviewItem {
    pub async fn load(
        tables: &Tables,
        copier: &PhotoCopier,
        claimed: ClaimedSubmission,
        now: Timestamp,
    ) -> Result<Self> {
        let ClaimedSubmission {
            submission,
            is_spot_check,
        } = claimed;
        let shown = Disclosure {
            phone: false,
            receipt: true,
            photo: true,
        };
        let recorded = record_disclosure(tables, &submission, shown, now).await?;
        let scope = &submission.scope;
        let campaign = tables.campaign(&scope.campaign).await?;
        let receipt = tables.receipt(&submission).await?;
        let copied = match &receipt {
            Some(Receipt {
                receipt_id,
                source: Source::Photo { .. },
                ..
            }) => Some(copier.copy(scope, *receipt_id, &recorded).await?),
            Some(_) | None => None,
        };
        let (photo, digest) = copied.map(|copied| (copied.shown, copied.digest)).unzip();
        let prize = prize(tables, &submission).await?;
        let item = Self {
            submission,
            prize,
            is_spot_check,
            campaign,
            receipt,
            photo,
            checks: Vec::new(),
            related: Vec::new(),
        };
        let related = related(
            tables,
            &item.submission,
            item.code().as_ref(),
            digest.flatten().as_deref(),
        )
        .await?;
        let checks = if is_spot_check {
            Vec::new()
        } else {
            item.checked()
        };
        Ok(Self {
            related,
            checks,
            ..item
        })
    }

    /// The code of the tax authority's record, otherwise the consumer's.
    pub fn code(&self) -> Option<VerificationCode> {
        self.record()
            .cloned()
            .or_else(|| self.read().map(|key| key.code))
    }

    /// The code of the tax authority's record. Without one, the purchase is what an operator typed.
    pub fn record(&self) -> Option<&VerificationCode> {
        self.submission
            .purchase
            .as_ref()
            .filter(|_| self.submission.receipt.is_some())
    }

    pub fn read(&self) -> Option<ReceiptKey> {
        match &self.receipt.as_ref()?.source {
            Source::Photo { qr_payload, .. } => ReceiptKey::from_payload(qr_payload.as_deref()?),
            Source::Typed { code, time } => Some(ReceiptKey {
                code: VerificationCode::parse_typed(code)?,
                time: Some(*time),
            }),
        }
    }

    /// Checks before an operator took over; a reopened submission has them in its history.
    fn checked(&self) -> Vec<(Check, CheckResult)> {
        if self.receipt.is_none() {
            return Vec::new();
        }
        let Submission {
            reasons, history, ..
        } = &self.submission;
        let is_known = |checks: &Vec<(Check, CheckResult)>| {
            checks
                .iter()
                .any(|(_, result)| matches!(result, CheckResult::Failed(_)))
        };
        let mut all = std::iter::once(reasons)
            .chain(history.iter().rev().map(|past| &past.reasons))
            .map(|reasons| checks(reasons));
        let found = all.find(is_known).unwrap_or_else(|| checks(reasons));
        // Photos that came with their QR code are not read.
        let is_read = self
            .receipt
            .as_ref()
            .is_some_and(|receipt| receipt.source.lookup_source() == LookupSource::Photo);
        found
            .into_iter()
            .filter(|(check, _)| is_read || *check != Check::Photo)
            .collect()
    }
}
