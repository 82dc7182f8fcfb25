//! One embedded database behind two stacks, and campaigns in it.
//!
//! The `counted` stack calls the database through a proxy, and its clock stands still, so that
//! caches do not expire. The `direct` stack, without IAM guard, is for timing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::app::auth::DEFAULT_PER_MINUTE;
use common::clock::Clock;
use common::domain::campaign::Campaign;
use common::domain::codebook::{Batch, BatchStatus, Origin};
use common::domain::scope::Environment;
use local::stack::{EndpointProxy, Options};
use service_tests::campaign::{self, TestCampaign};
use service_tests::interceptor::Interceptor;
use service_tests::receipts::receipts_alone;
use service_tests::service::Service;

use crate::caller::Caller;

/// More than any measurement uses.
const MINTED: u64 = 10_000_000;
/// More than any measurement uses.
const IMPORTED: u32 = 500;
/// A rate limit per minute that no measurement reaches.
const UNBOUNDED_PER_MINUTE: u32 = 100_000_000;

pub(crate) struct World {
    pub(crate) direct: Service,
    pub(crate) counted: Service,
    pub(crate) proxy: Interceptor,
    pub(crate) plain: Shop,
    pub(crate) importing: Shop,
    pub(crate) limited: Shop,
    pub(crate) receipts: Shop,
    next: AtomicU32,
}

pub(crate) struct Shop {
    pub(crate) campaign: TestCampaign,
    /// Has the default rate limit.
    pub(crate) usual_key: String,
    /// Its rate limit is never reached.
    pub(crate) free_key: String,
    imported: AtomicU32,
}

impl World {
    pub(crate) async fn start() -> Self {
        // A proxy would count background work too.
        let nothing_between = EndpointProxy(Arc::new(|url| Box::pin(async { url })));
        let direct = Options {
            background: false,
            streams: false,
            proxy: Some(nothing_between),
            ..Options::default()
        };
        let direct = Service::with_options(direct);
        let options = Options {
            clock: Clock::manual(Clock::system().now()),
            background: false,
            streams: false,
            ..Options::default()
        };
        let (counted, proxy) = direct.intercepted_beside(options).await;
        let plain = Shop::open(&direct, |_| {}).await;
        let importing = Shop::open(&direct, |_| {}).await;
        let codes: Vec<String> = (0..IMPORTED).map(imported_code).collect();
        let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
        importing
            .campaign
            .import("printed", BatchStatus::Active, None, &codes)
            .await;
        let limited = Shop::open(&direct, |campaign| campaign.limits.phone_daily = Some(1)).await;
        let receipts = Shop::open(&direct, receipts_alone).await;
        Self {
            direct,
            counted,
            proxy,
            plain,
            importing,
            limited,
            receipts,
            next: AtomicU32::new(0),
        }
    }

    pub(crate) fn direct_caller(&self) -> Caller {
        Caller::of(&self.direct.base_url)
    }

    pub(crate) fn counted_caller(&self) -> Caller {
        Caller::of(&self.counted.base_url)
    }

    /// Moves the counted clock to the next minute, where rate limits start over.
    pub(crate) fn begin_minute(&self) {
        self.counted.clock.advance(Duration::from_secs(60));
    }

    /// A number for unused phones and codes.
    pub(crate) fn fresh(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl Shop {
    async fn open(service: &Service, change: impl FnOnce(&mut Campaign)) -> Self {
        let mut config = campaign::plain();
        change(&mut config);
        let campaign = TestCampaign::on(service, config).await;
        campaign
            .change_book(Environment::Test, |book| {
                book.batches.push(Batch {
                    name: "stock".to_owned(),
                    origin: Origin::Minted {
                        first: book.minted,
                        count: MINTED,
                    },
                    prize: None,
                    status: BatchStatus::Active,
                });
                book.minted += MINTED;
            })
            .await;
        let usual_key = campaign.issue(Environment::Test, DEFAULT_PER_MINUTE).await;
        let free_key = campaign
            .issue(Environment::Test, UNBOUNDED_PER_MINUTE)
            .await;
        Self {
            campaign,
            usual_key,
            free_key,
            imported: AtomicU32::new(0),
        }
    }

    pub(crate) fn fresh_imported_code(&self) -> String {
        let number = self.imported.fetch_add(1, Ordering::Relaxed);
        assert!(number < IMPORTED, "no imported codes are left");
        imported_code(number)
    }
}

/// A wrong code of the imported ones' length.
pub(crate) fn never_imported_code(number: u32) -> String {
    imported_code(IMPORTED + number)
}

/// Longer than minted codes, because a code book imports none of their length.
fn imported_code(number: u32) -> String {
    format!("PRINTED{number:06}")
}
