use chrono::Datelike;
use proptest::prelude::*;

use super::super::record::{FiscalItem, Quantity};
use super::super::rules::Product;
use super::*;

/// Later than every record of these tests.
const LATER: Timestamp = Timestamp::from_millis(4_000_000_000_000);

#[test]
fn every_reason_has_a_name() {
    let names = [
        (Reason::Cancelled, "receipt_cancelled"),
        (Reason::TrainingReceipt, "receipt_from_training"),
        (Reason::OutsideWindow, "receipt_outside_window"),
        (Reason::UnknownTrader, "trader_unknown"),
        (Reason::UnknownDevice, "fiscal_device_unknown"),
        (Reason::NoProductMatched, "no_product_matched"),
        (Reason::FromTheFuture, "receipt_from_the_future"),
        (Reason::TooManyEntries, "too_many_entries"),
    ];
    assert_eq!(Reason::ALL, names.map(|(reason, _)| reason));
    for (reason, name) in names {
        assert_eq!(reason.as_str(), name);
    }
}

fn product(key: &str, matches: &[&str], entries: u32) -> Product {
    Product {
        key: key.to_owned(),
        range: "Classic".to_owned(),
        label: key.to_owned(),
        name: key.to_owned(),
        color: None,
        image: None,
        matches: matches.iter().map(ToString::to_string).collect(),
        entries,
    }
}

fn branch(key: &str, tin: &str, serials: &[&str]) -> Branch {
    Branch {
        key: key.to_owned(),
        name: key.to_owned(),
        city: "Dar es Salaam".to_owned(),
        merchant: "Duka Kuu".to_owned(),
        tin: tin.to_owned(),
        serials: serials.iter().map(ToString::to_string).collect(),
    }
}

fn rules() -> ReceiptRules {
    ReceiptRules {
        required: true,
        products: vec![
            product("chai-250", &["CHAI BORA 250"], 1),
            product("chai-500", &["CHAI BORA 500", "CB500"], 3),
        ],
        branches: vec![
            branch("kko", "100147181", &["03TZ1"]),
            branch("ub", "100147181", &["03TZ2"]),
        ],
        ..ReceiptRules::default()
    }
}

fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).expect("a day")
}

fn item(description: &str, thousandths: Option<i64>, amount_cents: i64) -> FiscalItem {
    let quantity = thousandths.map(Quantity::from_thousandths);
    FiscalItem {
        description: description.to_owned(),
        quantity,
        amount_cents,
    }
}

fn record(items: Vec<FiscalItem>) -> FiscalRecord {
    FiscalRecord {
        items,
        ..FiscalRecord::example()
    }
}

fn chai() -> FiscalRecord {
    record(vec![item("Chai Bora 250 g", Some(2_000), 400_000)])
}

fn verdict(record: &FiscalRecord) -> ReceiptVerdict {
    judge(record, &Campaign::example(), &rules(), LATER).verdict
}

fn declined(record: &FiscalRecord) -> Option<(MessageKey, Reason)> {
    match verdict(record) {
        ReceiptVerdict::Declined(key, reason) => Some((key, reason)),
        ReceiptVerdict::Verified { .. } | ReceiptVerdict::Review(_) => None,
    }
}

#[test]
fn what_was_bought_earns_by_piece() {
    let judged = judge(
        &record(vec![
            item("CHAI BORA 250G", Some(1_000), 1),
            item("CHAI BORA 2500", Some(1_000), 1),
            item("chai-bora  500 g", Some(2_500), 1),
            item("CB500", None, 1),
            item("SUGAR 1KG", Some(9_000), 1),
        ]),
        &Campaign::example(),
        &rules(),
        LATER,
    );
    assert_eq!(
        judged.verdict,
        ReceiptVerdict::Verified { entries: 1 + 3 * 3 },
        "2500 is not 250"
    );
    assert_eq!(
        judged.summary.items_summary.as_deref(),
        Some("1 x chai-250, 3 x chai-500")
    );
    assert_eq!(judged.summary.counted_entries, Some(10));
    assert_eq!(judged.summary.branch.as_deref(), Some("kko"));
    assert_eq!(judged.summary.date.as_deref(), Some("2026-03-01"));
}

#[test]
fn what_was_given_back_is_taken_off() {
    let line = |thousandths, cents| item("CHAI BORA 250", Some(thousandths), cents);
    let two_and_one_back = record(vec![line(2_000, 2), line(1_000, -1)]);
    assert_eq!(
        verdict(&two_and_one_back),
        ReceiptVerdict::Verified { entries: 1 }
    );
    let all_back = record(vec![line(2_000, 2), line(-2_000, -2)]);
    let judged = judge(&all_back, &Campaign::example(), &rules(), LATER);
    assert_eq!(
        judged.verdict,
        ReceiptVerdict::Review(Reason::NoProductMatched)
    );
    assert_eq!(
        (judged.summary.items_summary, judged.summary.counted_entries),
        (None, None)
    );
}

#[test]
fn something_weighed_is_one_piece() {
    assert_eq!(
        verdict(&record(vec![item("CHAI BORA 250", Some(300), 1)])),
        ReceiptVerdict::Verified { entries: 1 }
    );
}

#[test]
fn a_void_receipt_is_none() {
    let void = |mark| FiscalRecord {
        void: Some(mark),
        ..chai()
    };
    assert_eq!(
        declined(&void(VoidMark::Cancelled)),
        Some((MessageKey::ReceiptNotFound, Reason::Cancelled))
    );
    assert_eq!(
        declined(&void(VoidMark::Test)),
        Some((MessageKey::ReceiptNotFound, Reason::TrainingReceipt))
    );
}

#[test]
fn a_branch_is_trader_and_device() {
    let from = |tin: &str, serial: &str| FiscalRecord {
        tin: tin.to_owned(),
        serial: serial.to_owned(),
        ..chai()
    };
    let branch_in = |record: &FiscalRecord, rules: &ReceiptRules| {
        judge(record, &Campaign::example(), rules, LATER)
            .summary
            .branch
    };
    assert_eq!(
        branch_in(&from("100147181", "03tz2"), &rules()).as_deref(),
        Some("ub")
    );
    let wrong = |reason| Some((MessageKey::ReceiptWrongStore, reason));
    assert_eq!(
        declined(&from("100147181", "03TZ9")),
        wrong(Reason::UnknownDevice)
    );
    assert_eq!(
        declined(&from("999999999", "03TZ1")),
        wrong(Reason::UnknownTrader)
    );
    let any_device = ReceiptRules {
        branches: vec![branch("all", "100147181", &[])],
        ..rules()
    };
    assert_eq!(
        branch_in(&from("100147181", "03TZ9"), &any_device).as_deref(),
        Some("all")
    );
    let any_shop = ReceiptRules {
        branches: Vec::new(),
        ..rules()
    };
    let judged = judge(
        &from("999999999", "03TZ9"),
        &Campaign::example(),
        &any_shop,
        LATER,
    );
    assert_eq!(judged.verdict, ReceiptVerdict::Verified { entries: 2 });
}

#[test]
fn a_receipt_that_earns_too_much_goes_to_a_person() {
    let at_most = |max_entries, record: &FiscalRecord| {
        let rules = ReceiptRules {
            max_entries,
            ..rules()
        };
        judge(record, &Campaign::example(), &rules, LATER).verdict
    };
    let pieces = |number: i64| {
        record(vec![
            item("CHAI BORA 500", Some(number), 1),
            chai().items.remove(0),
        ])
    };
    assert_eq!(
        at_most(11, &pieces(3_999)),
        ReceiptVerdict::Verified { entries: 11 },
        "a fraction earns nothing"
    );
    assert_eq!(
        at_most(10, &pieces(3_999)),
        ReceiptVerdict::Review(Reason::TooManyEntries)
    );
    assert_eq!(
        at_most(13, &pieces(4_000)),
        ReceiptVerdict::Review(Reason::TooManyEntries)
    );
    for slip in [1_000_000_000, i64::MAX] {
        assert_eq!(
            at_most(100, &pieces(slip)),
            ReceiptVerdict::Review(Reason::TooManyEntries)
        );
    }
    assert_eq!(ReceiptRules::default().max_entries, 100);
}

#[test]
fn rules_without_max_entries_have_the_usual_limit() {
    let mut stored = serde_json::to_value(rules()).expect("JSON");
    stored
        .as_object_mut()
        .expect("an object")
        .remove("max_entries")
        .expect("it is stored");
    assert_eq!(
        serde_json::from_value::<ReceiptRules>(stored).expect("rules"),
        rules()
    );
}

fn utc(date: NaiveDate, hour: u32, minute: u32) -> Timestamp {
    date.and_hms_opt(hour, minute, 0)
        .expect("a time")
        .and_utc()
        .into()
}

#[test]
fn the_window_is_the_campaigns_own_to_the_second() {
    // 00:30 of 1 March in Dar es Salaam is 21:30 of 28 February in UTC.
    let bought = utc(day(2026, 2, 28), 21, 30);
    let later = Timestamp::from_millis(bought.as_millis() + 1);
    let within = |start, end, record: &FiscalRecord| {
        let campaign = Campaign {
            window: Window { start, end },
            ..Campaign::example()
        };
        let outside =
            ReceiptVerdict::Declined(MessageKey::ReceiptOutsideWindow, Reason::OutsideWindow);
        judge(record, &campaign, &rules(), LATER).verdict != outside
    };
    assert!(within(Some(bought), Some(later), &chai()));
    assert!(!within(Some(later), None, &chai()), "too early");
    assert!(!within(None, Some(bought), &chai()), "too late");
    let timeless = FiscalRecord {
        time: None,
        ..chai()
    };
    assert!(
        within(Some(later), None, &timeless),
        "some of its day is in the window"
    );
}

#[test]
fn a_receipt_of_the_future_is_for_a_person() {
    let bought = utc(day(2026, 2, 28), 21, 30);
    let submitted = |seconds_before: i64| {
        let at = Timestamp::from_millis(bought.as_millis() - seconds_before * 1_000);
        judge(&chai(), &Campaign::example(), &rules(), at).verdict
    };
    assert_eq!(submitted(3_600), ReceiptVerdict::Verified { entries: 2 });
    assert_eq!(
        submitted(3_601),
        ReceiptVerdict::Review(Reason::FromTheFuture)
    );
}

#[test]
fn without_products_any_purchase_counts_as_the_campaign_says() {
    let rules = ReceiptRules {
        products: Vec::new(),
        ..rules()
    };
    let campaign = Campaign {
        entries_per_submission: 7,
        ..Campaign::example()
    };
    assert_eq!(
        judge(&record(Vec::new()), &campaign, &rules, LATER).verdict,
        ReceiptVerdict::Verified { entries: 7 }
    );
}

fn any_item() -> impl Strategy<Value = FiscalItem> {
    let description = prop::sample::select(vec![
        "CHAI BORA 250",
        "CHAI BORA 500 G",
        "CB500",
        "SUMMARIZED SALE - E",
        "CHAI BORA 2500",
        "",
    ]);
    (
        description,
        prop::option::of(-5_000i64..50_000),
        -9i64..9_999,
    )
        .prop_map(|(description, quantity, cents)| item(description, quantity, cents))
}

prop_compose! {
    fn any_record()(
        items in prop::collection::vec(any_item(), 0..8),
        void in prop::option::of(prop::sample::select(vec![VoidMark::Cancelled, VoidMark::Test])),
        tin in prop::sample::select(vec!["100147181", "999999999"]),
        serial in prop::sample::select(vec!["03TZ1", "03TZ2", "03TZ9"]),
        number in 1u32..=28,
    ) -> FiscalRecord {
        FiscalRecord {
            void, tin: tin.to_owned(), serial: serial.to_owned(),
            date: day(2026, 3, number), ..record(items)
        }
    }
}

proptest! {
    #[test]
    fn a_receipt_counts_only_where_nothing_speaks_against_it(
        record in any_record(), decline in any::<bool>(), first_day in 1u32..=28, days in 1u32..20,
        zone in prop::sample::select(vec!["UTC", "Africa/Dar_es_Salaam", "Pacific/Auckland", "America/Lima"]),
        max_entries in 1u32..400,
    ) {
        // Tanzania's day begins at 21:00 UTC, whatever the campaign's time zone.
        let at = |number: u32| Some(utc(day(2026, 2, 28), 21, 0)
            .after(Duration::from_secs(86_400 * u64::from(number - 1))));
        let campaign = Campaign {
            timezone: zone.parse().expect("a zone"),
            window: Window { start: at(first_day), end: at(first_day + days) },
            ..Campaign::example()
        };
        let on_no_match = if decline { OnNoMatch::Decline } else { OnNoMatch::Review };
        let rules = ReceiptRules { on_no_match, max_entries, ..rules() };
        let expected = if record.void.is_some() {
            Some(MessageKey::ReceiptNotFound)
        } else if !(first_day..first_day + days).contains(&record.date.day()) {
            Some(MessageKey::ReceiptOutsideWindow)
        } else if record.tin != "100147181" || record.serial == "03TZ9" {
            Some(MessageKey::ReceiptWrongStore)
        } else {
            None
        };
        match (judge(&record, &campaign, &rules, LATER).verdict, expected) {
            (ReceiptVerdict::Declined(key, _), Some(expected)) => prop_assert_eq!(key, expected),
            (ReceiptVerdict::Declined(key, _), None) => {
                prop_assert!(decline);
                prop_assert_eq!(key, MessageKey::ReceiptNoQualifyingProduct);
            }
            (ReceiptVerdict::Verified { entries }, None) => prop_assert!((1..=max_entries).contains(&entries)),
            (ReceiptVerdict::Review(Reason::TooManyEntries), None) => {
                let unlimited = ReceiptRules { max_entries: u32::MAX, ..rules };
                let verdict = judge(&record, &campaign, &unlimited, LATER).verdict;
                let is_more = matches!(verdict, ReceiptVerdict::Verified { entries } if entries > max_entries);
                prop_assert!(is_more);
            }
            (ReceiptVerdict::Review(_), None) => prop_assert!(!decline),
            (verdict, Some(expected)) => prop_assert!(false, "{:?} instead of {}", verdict, expected),
        }
    }

    #[test]
    fn one_item_more_never_earns_less(record in any_record(), more in 1i64..9_000) {
        let unlimited = ReceiptRules { max_entries: u32::MAX, ..rules() };
        let judged = |record: &FiscalRecord| judge(record, &Campaign::example(), &unlimited, LATER).verdict;
        let entries = |record: &FiscalRecord| match judged(record) {
            ReceiptVerdict::Verified { entries } => entries,
            ReceiptVerdict::Declined(..) | ReceiptVerdict::Review(_) => 0,
        };
        let mut richer = record.clone();
        richer.items.push(item("CHAI BORA 250", Some(more), 1));
        prop_assert!(entries(&richer) >= entries(&record));
    }
}
