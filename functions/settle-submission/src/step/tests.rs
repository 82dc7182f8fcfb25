//! What is counted of a step, and what the photo reader stops for.

use super::*;
use crate::example;

const NOW: Moment = Moment::from_millis(100_000_000);

/// A submission of this age, with this plan.
fn submission(age: Duration, settling: Option<Settling>) -> Submission {
    let created_at = Moment::from_millis(NOW.as_millis() - i64::try_from(age.as_millis()).expect("small"));
    Submission { settling, ..example::submission(created_at) }
}

#[test]
fn what_is_open_for_an_hour_and_goes_on_is_counted() {
    let figures = |age, settling| with_age("trouble".into(), &submission(age, settling), NOW).figures;
    let open = Settling::at_once(NOW, None);
    let a_little_less = LONG - Duration::from_millis(1);
    assert_eq!(figures(LONG, Some(open.clone())), [("OpenForLong", 1)]);
    assert_eq!(figures(a_little_less, Some(open.clone())), []);
    assert_eq!(figures(LONG, Some(open.for_a_person(NOW))), []);
    assert_eq!(figures(LONG, None), []);
    let outcome = with_age("trouble".into(), &submission(LONG, None), NOW).outcome;
    assert_eq!(outcome, "trouble");
}

#[test]
fn a_receipt_is_all_that_a_look_up_needs() {
    assert!(is_receipt("https://verify.tra.go.tz/AB12CD3456_101530"));
    assert!(!is_receipt("https://verify.tra.go.tz/AB12CD3456"));
    assert!(!is_receipt("https://example.com/win"));
}
