//! A campaign for one test, with keys and codes, as an operator sets it up.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::app::auth::{DEFAULT_PER_MINUTE, key_prefix};
use common::domain::campaign::{Campaign, CodePolicy, PhoneLimits, Window, WrongCodeLimit};
use common::domain::cipher::{SecretKey, printed};
use common::domain::code::Alphabet;
use common::domain::code_record::CodeKey;
use common::domain::codebook::{Batch, BatchStatus, CodeBook, DEFAULT_CODE_SYMBOLS, Origin};
use common::domain::entrant::Entrant;
use common::domain::ids::EntrantId;
use common::domain::message::MessageOverrides;
use common::domain::phone::Phone;
use common::domain::scope::{Environment, Scope};
use common::random;
use common::store::api_keys::{ApiKeyRecord, KeyHash};
use serde_json::{Value, json};

use crate::http::{Reply, RequestBuilder, request};
use crate::service::{Service, entrant_id};

const MINTED: u64 = 100;

#[derive(Clone)]
pub struct TestCampaign {
    pub service: Service,
    pub config: Campaign,
    pub test_key: String,
    pub live_key: String,
}

/// Service codes and no limits.
pub fn plain() -> Campaign {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Campaign {
        slug: format!("campaign-{number}").parse().expect("a slug"),
        name: "Chai Bora Shinda".to_owned(),
        brand: "Chai Bora".to_owned(),
        timezone: "Africa/Dar_es_Salaam".parse().expect("a zone"),
        paused: false,
        window: Window::default(),
        code: CodePolicy::Service,
        limits: PhoneLimits::default(),
        entries_per_submission: 1,
        wrong_codes: WrongCodeLimit::default(),
        messages: MessageOverrides::default(),
        receipt: None,
        partner: None,
        consent: None,
        retention: None,
        instant: None,
        archived: false,
        webhooks: 0,
        instant_plan_test: None,
        instant_plan_live: None,
    }
}

impl TestCampaign {
    /// [`plain`] on the shared stack.
    pub async fn plain() -> Self {
        Self::on(&Service::shared(), plain()).await
    }

    /// [`plain`] with changes, on the shared stack.
    pub async fn with(change: impl FnOnce(&mut Campaign)) -> Self {
        Self::changed(&Service::shared(), change).await
    }

    /// [`plain`] with changes, on this stack.
    pub async fn changed(service: &Service, change: impl FnOnce(&mut Campaign)) -> Self {
        let mut config = plain();
        change(&mut config);
        Self::on(service, config).await
    }

    /// [`plain`] on a stack whose clock stands.
    pub async fn at_noon() -> Self {
        Self::on(&Service::at_noon(), plain()).await
    }

    pub async fn on(service: &Service, config: Campaign) -> Self {
        assert!(
            service
                .tables
                .campaigns
                .replace(None, &config)
                .await
                .expect("the campaign is written")
        );
        let mut campaign = Self {
            service: service.clone(),
            config,
            test_key: String::new(),
            live_key: String::new(),
        };
        for environment in Environment::ALL {
            let book = book(vec![minted("first", 0, BatchStatus::Active, None)]);
            service
                .tables
                .code_books
                .start(&campaign.scope(environment), book)
                .await
                .expect("a book");
        }
        campaign.test_key = campaign
            .issue(Environment::Test, DEFAULT_PER_MINUTE * 100)
            .await;
        campaign.live_key = campaign
            .issue(Environment::Live, DEFAULT_PER_MINUTE * 100)
            .await;
        campaign
    }

    /// Saves `config`. Functions may use a cached one for five seconds.
    pub async fn apply(&self) {
        let campaigns = &self.service.tables.campaigns;
        let before = campaigns.get_stored(&self.config.slug).await.expect("read");
        assert!(
            campaigns
                .replace(before.as_ref(), &self.config)
                .await
                .expect("the campaign is written")
        );
    }

    /// Advances the stack's clock.
    pub fn advance(&self, span: Duration) {
        self.service.clock.advance(span);
    }

    /// Adds a phone to the blocklist, or removes it.
    pub async fn set_blocked(&self, environment: Environment, number: u32, blocked: bool) {
        let (scope, phone) = (self.scope(environment), parsed_phone(number));
        let changed = self.service.set_blocked(&scope, &phone, blocked).await;
        changed.expect("the table");
    }

    /// A phone's counts.
    pub async fn entrant(&self, environment: Environment, number: u32) -> Entrant {
        let (scope, phone) = (self.scope(environment), parsed_phone(number));
        let entrant = self.service.entrant(&scope, &phone, "").await;
        entrant.expect("the table")
    }

    /// The id of a phone's records.
    pub fn entrant_id(&self, environment: Environment, number: u32) -> EntrantId {
        entrant_id(&self.scope(environment), &parsed_phone(number))
    }

    pub fn scope(&self, environment: Environment) -> Scope {
        Scope {
            campaign: self.config.slug.clone(),
            environment,
        }
    }

    pub fn live_scope(&self) -> Scope {
        self.scope(Environment::Live)
    }

    pub async fn issue(&self, environment: Environment, per_minute: u32) -> String {
        let key = format!(
            "{}{}",
            key_prefix(environment),
            hex::encode(random::bytes::<16>())
        );
        let hash = KeyHash::digest(&key);
        let record = ApiKeyRecord {
            key_id: hash.key_id().to_owned(),
            scope: self.scope(environment),
            label: None,
            per_minute,
            created_at: self.service.clock.now(),
            valid_until: None,
            revoked_at: None,
        };
        self.service
            .tables
            .keys
            .put(hash, record)
            .await
            .expect("the key is written");
        key
    }

    pub async fn revoke(&self, key: &str) {
        let id = KeyHash::digest(key).key_id().to_owned();
        let now = self.service.clock.now();
        self.service
            .tables
            .keys
            .revoke(&id, now)
            .await
            .expect("the key is revoked")
            .expect("there is one");
    }

    /// Changes an environment's code book and returns it.
    pub async fn change_book(
        &self,
        environment: Environment,
        change: impl FnOnce(&mut CodeBook),
    ) -> CodeBook {
        let (books, scope) = (&self.service.tables.code_books, self.scope(environment));
        let read = books.get(&scope).await.expect("the table");
        let mut stored = read.expect("a book");
        change(&mut stored.book);
        books.save(&scope, &stored).await.expect("saved");
        stored.book
    }

    /// Mints a batch in both environments; returns its first serial number.
    pub async fn mint(&self, name: &str, status: BatchStatus, prize: Option<&str>) -> u64 {
        let mut first = 0;
        for environment in Environment::ALL {
            self.change_book(environment, |book| {
                first = book.minted;
                book.batches.push(minted(name, first, status, prize));
                book.minted += MINTED;
            })
            .await;
        }
        first
    }

    /// Activates a batch in both environments.
    pub async fn activate(&self, name: &str) {
        for environment in Environment::ALL {
            self.change_book(environment, |book| {
                let mut batches = book.batches.iter_mut();
                let batch = batches.find(|batch| batch.name == name);
                batch.expect("a batch").status = BatchStatus::Active;
            })
            .await;
        }
    }

    /// Imports codes as a new batch in both environments.
    pub async fn import(
        &self,
        name: &str,
        status: BatchStatus,
        prize: Option<&str>,
        codes: &[&str],
    ) {
        let length = |code: &&str| code.len().try_into().expect("short");
        let batch = Batch {
            name: name.to_owned(),
            origin: Origin::Imported {
                count: codes.len().try_into().expect("a few"),
                lengths: codes.iter().map(length).collect(),
                unfinished: Vec::new(),
            },
            prize: prize.map(str::to_owned),
            status,
        };
        for environment in Environment::ALL {
            let add = |book: &mut CodeBook| book.batches.push(batch.clone());
            let book = self.change_book(environment, add).await;
            for code in codes {
                let key = CodeKey::Imported {
                    digest: book.digest(code),
                    batch: name.to_owned(),
                };
                let (table, scope) = (&self.service.tables.codes, self.scope(environment));
                let imported = table.import(&scope, &key, name).await;
                assert!(imported.expect("the table"), "{code} is new");
            }
        }
    }

    /// The printed code, the same in both environments.
    pub fn code(&self, serial: u64) -> String {
        printed(
            &book(Vec::new())
                .cipher()
                .expect("a length")
                .encipher(serial)
                .expect("in range"),
        )
    }

    pub fn test(&self, method: &str, path: &str) -> RequestBuilder {
        self.with_key(&self.test_key, method, path)
    }

    pub fn live(&self, method: &str, path: &str) -> RequestBuilder {
        self.with_key(&self.live_key, method, path)
    }

    pub fn with_key(&self, key: &str, method: &str, path: &str) -> RequestBuilder {
        request(method, format!("{}{path}", self.service.base_url))
            .header("authorization", format!("Bearer {key}"))
    }

    /// Uses the test key and a fresh Idempotency-Key.
    pub fn submission(&self, phone: &str, code: &str) -> RequestBuilder {
        self.with_body(&self.test_key, &body(phone, code))
    }

    /// [`Self::submission`] with the live key.
    pub fn entry(&self, phone: &str, code: &str) -> RequestBuilder {
        self.with_body(&self.live_key, &body(phone, code))
    }

    /// A submission with a fresh Idempotency-Key.
    pub fn with_body(&self, key: &str, body: &Value) -> RequestBuilder {
        self.with_key(key, "POST", "/api/v1/submissions")
            .header("idempotency-key", fresh_key())
            .json(body)
    }

    pub async fn submit(&self, phone: &str, code: &str) -> Reply {
        self.submission(phone, code).await
    }

    pub fn check(&self, code: &str) -> RequestBuilder {
        self.test("POST", "/api/v1/codes/check")
            .json(&json!({ "code": code }))
    }

    pub fn lookup(&self, phone: &str) -> RequestBuilder {
        self.test("POST", "/api/v1/submissions/lookup")
            .json(&json!({ "phone": phone }))
    }

    /// Enters a phone with a code.
    pub async fn enter(&self, number: u32, code: u64) {
        let outcome = self.outcome(&phone(number), &self.code(code)).await;
        assert_eq!(outcome, "entered", "phone {number}, code {code}");
    }

    /// The reply's message key to a test submission.
    pub async fn outcome(&self, phone: &str, code: &str) -> String {
        let reply = self.submit(phone, code).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply
            .field("message_key")
            .as_str()
            .expect("a key")
            .to_owned()
    }
}

pub fn body(phone: &str, code: &str) -> Value {
    json!({ "phone": phone, "code": code, "consent": true })
}

pub fn fresh_key() -> String {
    hex::encode(random::bytes::<16>())
}

/// A valid phone.
pub fn phone(number: u32) -> String {
    format!("+2557{}", 10_000_000 + number)
}

fn parsed_phone(number: u32) -> Phone {
    phone(number).parse().expect("a phone")
}

/// Keys that all test campaigns share: only the scope separates their codes.
fn book(batches: Vec<Batch>) -> CodeBook {
    CodeBook {
        minting_key: SecretKey::from_random([1; 32]),
        digest_key: SecretKey::from_random([2; 32]),
        alphabet: Alphabet::Mixed,
        minted_length: Some(DEFAULT_CODE_SYMBOLS),
        minted: MINTED,
        batches,
    }
}

fn minted(name: &str, first: u64, status: BatchStatus, prize: Option<&str>) -> Batch {
    let origin = Origin::Minted {
        first,
        count: MINTED,
    };
    Batch {
        name: name.to_owned(),
        origin,
        prize: prize.map(str::to_owned),
        status,
    }
}
