//! The client against every case of the portal, and operators' details.

use std::time::Duration;

use chrono::NaiveDate;
use common::domain::{FiscalRecord, Quantity, ReceiptTime, VerificationCode, VoidMark};
use common::upstream::http_client::TransportError;
use common::upstream::tax_authority::answer::{LookupAnswer, PortalError, UnexpectedPage};
use common::upstream::tax_authority::client::{Limits, TaxAuthority};
use local::tax_portal::cases::{CASES, TIME};
use local::tax_portal::{Shop, TaxPortal, TaxPortalOptions};

const fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).expect("a day")
}

const TODAY: NaiveDate = date(2026, 3, 9);

const SHOP: Shop = Shop {
    trader: "DUKA & SONS LTD",
    tin: "100200300",
    serial: "03TZ100001",
    items: &[
        ("SODA <ORANGE> 500ML", 120_050),
        ("SODA LEMON 500ML", 110_000),
    ],
};

struct Fixture {
    portal: TaxPortal,
    client: TaxAuthority,
}

impl Fixture {
    async fn new() -> Self {
        let mut options = TaxPortalOptions::new(&[SHOP], || TODAY);
        options.throttle = None;
        let portal = TaxPortal::serve(options).await.expect("a portal");
        let client = TaxAuthority::new(&portal.base_url, Limits::default()).expect("a client");
        Self { portal, client }
    }

    async fn ask(&self, code: &str) -> LookupAnswer {
        self.ask_at(code, TIME).await
    }

    async fn ask_at(&self, code: &str, time: &str) -> LookupAnswer {
        let time = ReceiptTime::from_typed(time).expect("a time");
        self.client
            .lookup(&code.parse().expect("a code"), time)
            .await
    }

    async fn found(&self, code: &str) -> FiscalRecord {
        match self.ask(code).await {
            LookupAnswer::Found(record) => *record,
            other => panic!("{code}: {other:?}"),
        }
    }

    async fn unexpected(&self, code: &str) -> UnexpectedPage {
        match self.ask(code).await {
            LookupAnswer::Unexpected(page) => *page,
            other => panic!("{code}: {other:?}"),
        }
    }

    async fn kinds(&self, code: &str, times: usize) -> Vec<&'static str> {
        let mut kinds = Vec::new();
        for _ in 0..times {
            kinds.push(self.ask(code).await.as_str());
        }
        kinds
    }
}

#[tokio::test]
async fn a_good_receipt_is_read_whole() {
    let fixture = Fixture::new().await;
    let record = fixture.found("GOOD010001").await;
    assert_eq!(record.code.as_str(), "GOOD010001");
    assert_eq!(record.trader.as_deref(), Some("DUKA & SONS LTD"));
    assert_eq!(
        (record.tin.as_str(), record.serial.as_str()),
        ("100200300", "03TZ100001")
    );
    assert_eq!(
        (record.vrn.as_deref(), record.tax_office.as_deref()),
        (None, Some("Ilala"))
    );
    assert_eq!(
        (record.receipt_number.as_str(), record.z_number.as_deref()),
        ("0001", Some("412"))
    );
    assert_eq!(record.date, TODAY);
    assert_eq!(record.time.map(ReceiptTime::expose).as_deref(), Some(TIME));
    assert_eq!(record.void, None);
    let lines: Vec<_> = record
        .items
        .iter()
        .map(|item| {
            (
                item.description.as_str(),
                item.quantity.map(Quantity::as_thousandths),
                item.amount_cents,
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            ("SUGAR BROWN 1KG", Some(1_000), 320_000),
            ("BREAD WHITE SLICED", Some(2_000), 360_000),
            ("SODA <ORANGE> 500ML", Some(1_000), 120_050),
        ]
    );
    assert_eq!(record.total_incl_cents, Some(800_050));
    assert_eq!(fixture.portal.asked("GOOD010001"), 1);
}

#[tokio::test]
async fn a_record_survives_storage_and_holds_nothing_of_the_customer() {
    let fixture = Fixture::new().await;
    let record = fixture.found("GOOD010001").await;
    let stored = serde_json::to_string(&record).expect("JSON");
    assert_eq!(
        serde_json::from_str::<FiscalRecord>(&stored).expect("a record"),
        record
    );
    for private in ["MTEJA", "0700000000", "CUSTOMER"] {
        assert!(!stored.contains(private), "{stored}");
    }
    let printed = format!("{record:?}");
    assert!(
        !printed.contains("GOOD01") && !printed.contains("10:15"),
        "{printed}"
    );
}

#[tokio::test]
async fn a_page_of_the_older_layout_reads_the_same() {
    let fixture = Fixture::new().await;
    let (new, old) = (
        fixture.found("GOOD010001").await,
        fixture.found("OLDP010001").await,
    );
    let code: VerificationCode = "OLDP010001".parse().expect("a code");
    assert_eq!(
        old,
        FiscalRecord {
            code,
            tax_office: None,
            ..new
        }
    );
}

#[tokio::test]
async fn several_products_come_with_their_quantities() {
    let record = Fixture::new().await.found("MANY010001").await;
    let quantities: Vec<_> = record
        .items
        .iter()
        .filter_map(|item| item.quantity)
        .collect();
    assert_eq!(
        quantities,
        [2_000, 3_000, 500, 1_000].map(Quantity::from_thousandths)
    );
}

#[tokio::test]
async fn found_receipts_differ_in_what_is_on_them() {
    let fixture = Fixture::new().await;
    assert_eq!(
        fixture.found("VOID010001").await.void,
        Some(VoidMark::Cancelled)
    );
    assert_eq!(fixture.found("TRAI010001").await.void, Some(VoidMark::Test));
    assert_eq!(fixture.found("OLDD010001").await.date, date(2025, 2, 2));
    assert_eq!(fixture.found("FUTR010001").await.date, date(2026, 3, 11));
    let shop = fixture.found("SHOP010001").await;
    assert_eq!(
        (shop.tin.as_str(), shop.serial.as_str()),
        ("999000111", "09TZ000999")
    );
    let device = fixture.found("SERI010001").await;
    assert_eq!(
        (device.tin.as_str(), device.serial.as_str()),
        ("100200300", "09TZ000999")
    );
    let descriptions = |record: FiscalRecord| {
        record
            .items
            .into_iter()
            .map(|item| item.description)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        descriptions(fixture.found("GENR010001").await),
        ["SUMMARIZED SALE - E", "FOOD AND DRINKS"]
    );
    assert_eq!(
        descriptions(fixture.found("NOIT010001").await),
        ["SUGAR BROWN 1KG", "BREAD WHITE SLICED"]
    );
}

#[tokio::test]
async fn a_wrong_time_is_told_apart_in_both_places() {
    let fixture = Fixture::new().await;
    assert_eq!(
        fixture.ask_at("GOOD010001", "10:15").await,
        LookupAnswer::WrongTime
    );
    assert_eq!(
        fixture.ask_at("TIME010001", "10:15:31").await,
        LookupAnswer::WrongTime
    );
    assert_eq!(fixture.ask("TIME010001").await.as_str(), "found");
}

#[tokio::test]
async fn a_receipt_comes_after_what_is_in_its_way() {
    let fixture = Fixture::new().await;
    assert_eq!(
        fixture.kinds("LATE010001", 3).await,
        ["not_found_yet", "not_found_yet", "found"]
    );
    assert_eq!(
        fixture.kinds("BUSY010001", 3).await,
        ["throttled", "throttled", "found"]
    );
    assert_eq!(
        fixture.kinds("DOWN010001", 3).await,
        ["trouble", "trouble", "found"]
    );
    assert_eq!(fixture.kinds("SWAP010001", 2).await, ["trouble", "found"]);
    assert_eq!(fixture.portal.asked("LATE010001"), 3);
    // Each code has another prefix.
    assert_eq!(fixture.kinds("LATE010002", 1).await, ["not_found_yet"]);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let fixture = Fixture::new().await;
    for code in [
        "NONE010001",
        "GOOD020001",
        "GOOD000001",
        "GOODXX0001",
        "ZZZZ010001",
        "123456",
    ] {
        assert_eq!(fixture.ask(code).await, LookupAnswer::NotFoundYet, "{code}");
    }
}

#[tokio::test]
async fn trouble_has_a_name() {
    let fixture = Fixture::new().await;
    for (code, trouble) in [
        ("DEAD010001", PortalError::Status(503)),
        ("SWAX010001", PortalError::OtherReceipt),
        ("HUGE010001", TransportError::TooLarge.into()),
        ("LOOP010001", PortalError::TooManyRedirects),
    ] {
        assert_eq!(
            fixture.ask(code).await,
            LookupAnswer::Unavailable(trouble),
            "{code}"
        );
    }
    // The request and five redirects.
    assert_eq!(fixture.portal.asked("LOOP010001"), 6);
}

#[tokio::test]
async fn a_refused_referer_is_our_own_fault() {
    assert_eq!(
        Fixture::new().await.ask("INDX010001").await,
        LookupAnswer::RefererRefused
    );
}

#[tokio::test]
async fn surprises_are_kept_for_an_operator() {
    let fixture = Fixture::new().await;
    let page = fixture.unexpected("HTML010001").await;
    assert_eq!(
        (page.final_path.as_str(), page.status, page.why),
        ("/Verify/Verified", 200, "no TIN")
    );
    assert_eq!(
        page.excerpt,
        "DUKA & SONS LTD\nTaxpayer\n100200300\nDevice\n03TZ100001\nDay\n2026-03-09\nCUSTOMER ***\n\
         RECEIPT VERIFICATION CODE\nHTML010001"
    );
    assert!(!format!("{page:?}").contains("HTML01"));

    let page = fixture.unexpected("EMPT010001").await;
    assert_eq!(
        (page.excerpt.as_str(), page.why),
        ("", "neither a receipt nor a question for its time")
    );

    let page = fixture.unexpected("AWAY010001").await;
    assert_eq!((page.status, page.why), (302, "a redirect to another host"));
    assert_eq!(page.excerpt, "redirect to http://elsewhere.invalid");
}

#[tokio::test]
async fn a_portal_that_hangs_is_given_up() {
    let mut fixture = Fixture::new().await;
    let limits = Limits {
        read: Duration::from_millis(50),
        ..Limits::default()
    };
    fixture.client = TaxAuthority::new(&fixture.portal.base_url, limits).expect("a client");
    assert_eq!(
        fixture.ask("HANG010001").await,
        LookupAnswer::Unavailable(TransportError::Timeout.into())
    );
}

#[tokio::test]
async fn every_case_is_tried_here() {
    let tried = include_str!("simulator.rs");
    for case in CASES {
        assert!(
            tried.contains(&format!("\"{}01", case.prefix)),
            "{}: {}",
            case.prefix,
            case.what
        );
        assert_eq!(case.prefix.len(), 4);
    }
}
