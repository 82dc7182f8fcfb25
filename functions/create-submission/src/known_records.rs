use common::app::code_verifier::VerifiedCode;
use common::domain::{CodeKey, CodeLookup, CodeStatus, MessageKey, Timestamp};
use common::error::StoreResult;
use common::store::batch::BatchItems;
use common::store::submission_writes::{ExistingRecords, RecordKeys, SubmissionStore};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordSource {
    Assumed,
    /// Returned by failed conditions; the others are still assumed.
    Conditions,
    Read,
}

pub(crate) struct KnownRecords<'a> {
    store: &'a SubmissionStore,
    keys: RecordKeys<'a>,
    day: &'a str,
    now: Timestamp,
    prefetched: Option<&'a BatchItems>,
    source: RecordSource,
    code_key: Option<CodeKey>,
    pub(crate) records: ExistingRecords,
}

impl<'a> KnownRecords<'a> {
    pub(crate) fn new(
        store: &'a SubmissionStore,
        keys: RecordKeys<'a>,
        day: &'a str,
        now: Timestamp,
        prefetched: &'a BatchItems,
    ) -> Self {
        Self {
            store,
            keys,
            day,
            now,
            prefetched: Some(prefetched),
            source: RecordSource::Assumed,
            code_key: None,
            records: ExistingRecords::default(),
        }
    }

    pub(crate) fn select_code(&mut self, key: Option<&CodeKey>) {
        let is_same = match (&self.code_key, key) {
            (Some(known), Some(key)) => known.is_same_record(key),
            (known, key) => known.is_none() && key.is_none(),
        };
        if !is_same {
            self.code_key = key.cloned();
            self.records.code = CodeLookup::NoRecord;
            self.source = RecordSource::Assumed;
        }
    }

    /// Prefetched records count once. A receipt's faults come before any decision, so it needs all.
    pub(crate) async fn load_missing(&mut self) -> StoreResult<()> {
        if let Some(prefetched) = self.prefetched.take() {
            let keys = self.keys.with_code(self.code_key.as_ref());
            let found = self.store.find_in(prefetched, keys, self.day, self.now)?;
            let source = match found.is_complete {
                true => RecordSource::Read,
                false => RecordSource::Assumed,
            };
            self.replace(found.records, source);
        }
        if self.keys.receipt.is_some() && self.source == RecordSource::Assumed {
            self.load().await?;
        }
        Ok(())
    }

    pub(crate) async fn load(&mut self) -> StoreResult<()> {
        let keys = self.keys.with_code(self.code_key.as_ref());
        let records = self.store.load_records(keys, self.day, self.now).await?;
        self.replace(records, RecordSource::Read);
        Ok(())
    }

    /// Keeps the receipt if the newer ones have none.
    pub(crate) fn replace(&mut self, records: ExistingRecords, source: RecordSource) {
        let receipt = self.records.receipt.take();
        self.records = records;
        self.source = source;
        if self.records.receipt.is_none() {
            self.records.receipt = receipt;
        }
    }

    /// An assumed record may hide a replay, and the wrong-code log must be read before it is
    /// overwritten.
    pub(crate) fn must_load_before_rejecting(
        &self,
        code: &VerifiedCode,
        reason: MessageKey,
    ) -> bool {
        match self.source {
            RecordSource::Assumed => true,
            RecordSource::Conditions => is_wrong_code(code, reason),
            RecordSource::Read => false,
        }
    }
}

pub(crate) fn is_wrong_code(code: &VerifiedCode, reason: MessageKey) -> bool {
    code.status == CodeStatus::Invalid && reason == MessageKey::Invalid
}
