//! The records that decide about one request, as far as they are known.

use common::app::code_verifier::{CodeRecords, VerifiedCode};
use common::domain::admission::CodeStatus;
use common::domain::ids::SubmissionId;
use common::domain::message::MessageKey;
use common::domain::timestamp::Timestamp;
use common::store::StoreError;
use common::store::batch::BatchItems;
use common::store::codes::{CodeKey, CodeLookup};
use common::store::idempotency_keys::IdempotencyRecord;
use common::store::submission_writes::{BatchedState, ExistingState, RecordKeys, SubmissionStore};

/// How the records became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// They are not known, and taken for harmless.
    Assumed,
    /// The failed conditions of a write brought back the records that they are about. The others are harmless.
    Conditions,
    /// They were all read.
    Read,
}

pub(crate) struct State<'a> {
    store: &'a SubmissionStore,
    /// The keys of all records but the code's.
    keys: RecordKeys<'a>,
    day: &'a str,
    now: Timestamp,
    /// What was read before the request, until it is used.
    prefetched: Option<&'a BatchItems>,
    source: Source,
    /// The code's record that is known.
    code_key: Option<CodeKey>,
    pub(crate) records: ExistingState,
}

impl<'a> State<'a> {
    pub(crate) fn new(
        store: &'a SubmissionStore,
        keys: RecordKeys<'a>,
        day: &'a str,
        now: Timestamp,
        prefetched: &'a BatchItems,
    ) -> Self {
        let (source, prefetched) = (Source::Assumed, Some(prefetched));
        let (code_key, records) = (None, ExistingState::default());
        Self { store, keys, day, now, prefetched, source, code_key, records }
    }

    /// The reply that the Idempotency-Key led to before.
    pub(crate) fn take_idempotency(&mut self) -> Option<IdempotencyRecord<SubmissionId>> {
        self.records.idempotency.take()
    }

    /// Reads all records.
    pub(crate) async fn load(&mut self) -> Result<(), StoreError> {
        let keys = RecordKeys { code: self.code_key.as_ref(), ..self.keys };
        let records = self.store.load_state(keys, self.day, self.now).await?;
        self.replace(records, Source::Read);
        Ok(())
    }

    /// Takes over newer records. A receipt that they leave out stays as it was.
    pub(crate) fn replace(&mut self, records: ExistingState, source: Source) {
        let receipt = self.records.receipt.take();
        self.records = records;
        self.source = source;
        if self.records.receipt.is_none() {
            self.records.receipt = receipt;
        }
    }

    /// Whether a submission may be rejected only after all records are read: an assumed record may hide a replay, and the
    /// log of wrong codes is only written over one that was read.
    pub(crate) fn must_load_before_rejecting(&self, code: &VerifiedCode, reason: MessageKey) -> bool {
        match self.source {
            Source::Assumed => true,
            Source::Conditions => is_wrong_code(code, reason),
            Source::Read => false,
        }
    }

    /// Reads what was prefetched, the first time.
    fn find_prefetched(&mut self) -> Result<(), StoreError> {
        let Some(prefetched) = self.prefetched.take() else { return Ok(()) };
        let keys = RecordKeys { code: self.code_key.as_ref(), ..self.keys };
        match self.store.find_in(prefetched, keys, self.day, self.now)? {
            BatchedState::Complete(records) => self.replace(records, Source::Read),
            BatchedState::Partial(records) => self.replace(records, Source::Assumed),
        }
        Ok(())
    }

    /// Forgets the code's record when another one is asked for.
    fn select_code(&mut self, key: Option<&CodeKey>) {
        let is_same = match (&self.code_key, key) {
            (Some(known), Some(key)) => known.is_same_record(key),
            (known, key) => known.is_none() && key.is_none(),
        };
        if !is_same {
            self.code_key = key.cloned();
            self.records.code = CodeLookup::NoRecordNeeded;
            self.source = Source::Assumed;
        }
    }
}

/// Whether a rejection counts as a wrong code of its phone.
pub(crate) fn is_wrong_code(code: &VerifiedCode, reason: MessageKey) -> bool {
    code.status == CodeStatus::Invalid && reason == MessageKey::Invalid
}

impl CodeRecords for State<'_> {
    /// Gives what is known of the code's record. It is read only with a receipt: the faults of a receipt are told before
    /// anything is decided.
    async fn look_up(&mut self, key: Option<&CodeKey>) -> Result<CodeLookup, StoreError> {
        self.select_code(key);
        self.find_prefetched()?;
        if self.keys.receipt.is_some() && self.source == Source::Assumed {
            self.load().await?;
        }
        Ok(self.records.code.clone())
    }
}
