//! What a submission becomes by each answer of a partner, and by none.

use std::time::Duration;

use super::PartnerRequest;
use super::course::{Asked, FaultOwner, Pacing, Silence, partner_request};
use super::reply::{PartnerVerdict, Upstream, UpstreamCode};
use crate::domain::message::MessageKey;
use crate::domain::scope::{Environment, Scope};
use crate::domain::settling::{Anomaly, Assignee, PendingSettlement, RetrySpeedup};
use crate::domain::submission::{AlreadySettled, State, Submission};
use crate::domain::timestamp::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(2_000_000);

/// In the middle between the shortest and the longest wait, so that a wait is as planned.
fn pacing() -> Pacing {
    Pacing { now: NOW, hasten: RetrySpeedup::default(), chance: 0.5 }
}

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn upstream() -> Upstream {
    Upstream { code: UpstreamCode::Number(7), message: Some("hush".to_owned()) }
}

fn decided(outcome: MessageKey, entries: Option<u32>, prize: Option<&str>) -> Asked {
    let prize = prize.map(str::to_owned);
    Asked::Decided(PartnerVerdict { outcome, entries, prize, upstream: upstream() })
}

fn silent(may_have_arrived: bool) -> Silence {
    Silence { may_have_arrived, ..Silence::unasked("timeout", FaultOwner::Partner) }
}

/// A submission whose partner is asked now, with this plan.
fn asking(change: impl FnOnce(&mut PendingSettlement)) -> Submission {
    let mut settling = PendingSettlement::asking(NOW);
    change(&mut settling);
    Submission { settling: Some(settling), ..Submission::example() }
}

fn applied(asked: &Asked, before: &Submission) -> Submission {
    asked.applied_to(before, 1, pacing()).expect("open")
}

fn plan(submission: &Submission) -> &PendingSettlement {
    submission.settling.as_ref().expect("open")
}

#[test]
fn one_that_was_not_asked_for_the_limits_sake_is_due_at_once_and_counts_as_no_silence() {
    let after = applied(&Asked::AtLimit, &asking(|_| {}));
    assert_eq!((after.status.state(), after.status.message_key()), (State::Unknown, MessageKey::Checking));
    let PendingSettlement { next_step_at, unfinished, asked, may_have_arrived, silent_since, .. } =
        plan(&after);
    assert_eq!((*next_step_at, *unfinished, *asked), (NOW, 0, 0));
    assert_eq!((*may_have_arrived, *silent_since), (false, None));
    assert_eq!(Asked::AtLimit.figures(), [("PartnerAtLimit", 1)]);
}

#[test]
fn an_accepting_answer_earns_what_it_says_or_what_the_campaign_gives() {
    let won = |outcome, entries, prize| {
        let status = applied(&decided(outcome, entries, prize), &asking(|_| {})).status;
        (status.message_key(), status.entries(), status.instant_win().map(str::to_owned))
    };
    assert_eq!(won(MessageKey::Entered, None, None), (MessageKey::Entered, 1, None));
    assert_eq!(won(MessageKey::Entered, Some(4), Some("A kettle")), (MessageKey::Entered, 4, None));
    let prize = |text: &str| Some(text.to_owned());
    assert_eq!(
        won(MessageKey::InstantWin, Some(2), Some("A kettle")),
        (MessageKey::InstantWin, 2, prize("A kettle"))
    );
    assert_eq!(won(MessageKey::InstantWin, None, None), (MessageKey::InstantWin, 1, prize("Instant prize")));
}

#[test]
fn a_decision_keeps_the_partners_words_and_says_why_it_refuses() {
    let accepted = applied(&decided(MessageKey::Entered, None, None), &asking(|_| {}));
    assert_eq!((accepted.upstream, accepted.reasons), (Some(upstream()), Vec::new()));
    let refused = applied(&decided(MessageKey::Invalid, None, None), &asking(|_| {}));
    assert_eq!(refused.status.message_key(), MessageKey::Invalid);
    assert_eq!((refused.upstream, refused.reasons), (Some(upstream()), vec!["invalid".to_owned()]));
}

#[test]
fn a_used_code_is_a_refusal_unless_an_earlier_request_may_have_used_it() {
    let used = decided(MessageKey::AlreadyUsed, None, None);
    let refused = applied(&used, &asking(|_| {}));
    assert_eq!(refused.status.message_key(), MessageKey::AlreadyUsed);
    let open = applied(&used, &asking(|settling| settling.may_have_arrived = true));
    assert_eq!((open.status.state(), plan(&open).assignee), (State::Unknown, Assignee::Operator));
    assert_eq!(
        (open.upstream, open.reasons),
        (Some(upstream()), vec!["partner_used_when_asked_again".to_owned()])
    );
    let other = applied(
        &decided(MessageKey::Invalid, None, None),
        &asking(|settling| settling.may_have_arrived = true),
    );
    assert_eq!(other.status.state(), State::Rejected);
}

#[test]
fn after_a_silence_the_partner_is_asked_again_later_and_later() {
    for (asked, wait) in [(0, 5), (1, 15), (2, 30), (3, 60), (7, 1_800), (8, 1_800)] {
        let before = asking(|settling| settling.asked = asked);
        let after = applied(&Asked::Silent(silent(false)), &before);
        assert_eq!(after.status.state(), State::Unknown);
        let expected = PendingSettlement {
            asked: asked + 1,
            unfinished: 0,
            next_step_at: later(wait),
            silent_since: Some(NOW),
            anomaly: Some(Anomaly::from("timeout")),
            ..plan(&before).clone()
        };
        assert_eq!(plan(&after), &expected);
        assert!(after.reasons.is_empty());
    }
}

#[test]
fn chance_moves_a_wait_by_a_fifth_and_haste_divides_it() {
    let planned = |chance, hasten| {
        let pacing = Pacing { now: NOW, chance, hasten };
        let after = Asked::Silent(silent(false)).applied_to(&asking(|_| {}), 1, pacing).expect("open");
        plan(&after).next_step_at.since(NOW)
    };
    assert_eq!(planned(0.0, RetrySpeedup::default()), Duration::from_secs(4));
    assert_eq!(planned(1.0, RetrySpeedup::default()), Duration::from_secs(6));
    assert_eq!(planned(0.5, RetrySpeedup::by(5)), Duration::from_secs(1));
}

#[test]
fn that_a_request_may_have_arrived_is_never_forgotten() {
    let arrived = |before: bool, now: bool| {
        let before = asking(|settling| settling.may_have_arrived = before);
        plan(&applied(&Asked::Silent(silent(now)), &before)).may_have_arrived
    };
    assert!(!arrived(false, false));
    assert!(arrived(true, false) && arrived(false, true) && arrived(true, true));
}

#[test]
fn a_day_of_silence_is_told_to_a_person() {
    let day = 24 * 60 * 60;
    let since = |ago: u64| {
        let start = Timestamp::from_millis(NOW.as_millis() - i64::try_from(ago).expect("small") * 1_000);
        let before = asking(|settling| settling.silent_since = Some(start));
        let after = applied(&Asked::Silent(silent(false)), &before);
        (plan(&after).assignee, plan(&after).silent_since == Some(start), after.reasons)
    };
    assert_eq!(since(day - 1), (Assignee::Service, true, Vec::new()));
    assert_eq!(since(day), (Assignee::Operator, true, vec!["partner_unanswered".to_owned()]));
}

#[test]
fn a_partner_left_in_peace_is_not_asked_and_not_counted_as_asked() {
    let before = asking(|settling| {
        settling.asked = 3;
        settling.anomaly = Some(Anomaly::from("timeout"));
    });
    let after = applied(&Asked::Spared(later(60)), &before);
    let expected = PendingSettlement {
        unfinished: 0,
        next_step_at: later(65),
        silent_since: Some(NOW),
        ..plan(&before).clone()
    };
    assert_eq!(plan(&after), &expected);
}

#[test]
fn the_partners_latest_words_stay() {
    let words = Silence { upstream: Some(upstream()), ..silent(true) };
    let first = applied(&Asked::Silent(words), &asking(|_| {}));
    assert_eq!(first.upstream, Some(upstream()));
    let second = applied(&Asked::Silent(silent(false)), &first);
    assert_eq!(second.upstream, Some(upstream()));
}

#[test]
fn nothing_moves_a_settled_submission() {
    let settled = applied(&decided(MessageKey::Invalid, None, None), &asking(|_| {}));
    for asked in [decided(MessageKey::Entered, None, None), Asked::Silent(silent(true)), Asked::Spared(NOW)] {
        assert_eq!(asked.applied_to(&settled, 1, pacing()), Err(AlreadySettled));
    }
}

#[test]
fn a_silence_is_counted_by_who_has_to_do_something_about_it() {
    let figures = |owner| Asked::Silent(Silence::unasked("why", owner)).figures();
    assert_eq!(figures(FaultOwner::Partner), [("PartnerSilent", 1)]);
    assert_eq!(figures(FaultOwner::AppContext), [("PartnerNotUnderstood", 1)]);
    assert_eq!(figures(FaultOwner::Service), [("Failed", 1)]);
    assert_eq!(Asked::Silent(Silence::service_failed()).figures(), [("Failed", 1)]);
    let opened = Silence { opened_breaker: true, ..silent(false) };
    assert_eq!(Asked::Silent(opened).figures(), [("PartnerSilent", 1), ("PartnerSpared", 1)]);
    assert_eq!(Asked::Spared(NOW).figures(), [("PartnerSpared", 1)]);
    assert_eq!(decided(MessageKey::Entered, None, None).figures(), []);
}

#[test]
fn a_partner_is_asked_about_the_submission_by_its_id() {
    let submission = Submission::example();
    let expected = PartnerRequest {
        reference: submission.submission_id.to_string(),
        code: "ABC123".to_owned(),
        phone: "+255712345678".to_owned(),
        campaign: "demo".to_owned(),
        livemode: true,
    };
    assert_eq!(partner_request(&submission), Some(expected.clone()));
    let scope = Scope { environment: Environment::Test, ..submission.scope.clone() };
    let test = Submission { scope, ..submission.clone() };
    assert_eq!(partner_request(&test), Some(PartnerRequest { livemode: false, ..expected }));
    assert_eq!(partner_request(&Submission { partner_code: None, ..submission }), None);
}
