use std::time::Duration;

use super::PartnerRequest;
use super::outcome::{FaultOwner, PartnerOutcome, Unanswered, partner_request};
use super::reply::{PartnerMessage, PartnerVerdict, UpstreamCode};
use crate::domain::{
    AlreadySettled, Anomaly, Assignee, Environment, MessageKey, PartnerProgress, PendingSettlement,
    Progress, RetryContext, RetrySpeedup, Scope, State, Submission, Timestamp,
};

const NOW: Timestamp = Timestamp::from_millis(2_000_000);

/// The jitter is in the middle: waits are exact.
fn retry() -> RetryContext {
    RetryContext {
        now: NOW,
        speedup: RetrySpeedup::default(),
        jitter: 0.5,
    }
}

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn upstream() -> PartnerMessage {
    PartnerMessage {
        code: UpstreamCode::Number(7),
        message: Some("hush".to_owned()),
    }
}

fn decided(outcome: MessageKey, entries: Option<u32>, prize: Option<&str>) -> PartnerOutcome {
    let prize = prize.map(str::to_owned);
    PartnerOutcome::Decided(PartnerVerdict {
        outcome,
        entries,
        prize,
        upstream: upstream(),
    })
}

fn timed_out(may_have_arrived: bool) -> Unanswered {
    Unanswered {
        may_have_arrived,
        ..Unanswered::unasked("timeout", FaultOwner::Partner)
    }
}

fn no_answer() -> PartnerOutcome {
    PartnerOutcome::NoAnswer(timed_out(false))
}

/// A submission whose partner is asked, after this progress.
fn asking(progress: PartnerProgress) -> Submission {
    let settling = PendingSettlement {
        progress: Progress::Partner(progress),
        ..PendingSettlement::asking(NOW)
    };
    Submission {
        settling: Some(settling),
        ..Submission::example()
    }
}

fn asking_first() -> Submission {
    asking(PartnerProgress::default())
}

fn maybe_redeemed() -> PartnerProgress {
    PartnerProgress {
        maybe_redeemed: true,
        ..PartnerProgress::default()
    }
}

fn applied(outcome: &PartnerOutcome, before: &Submission) -> Submission {
    outcome.apply(before, 1, retry()).expect("open")
}

fn plan(submission: &Submission) -> &PendingSettlement {
    submission.settling.as_ref().expect("open")
}

fn progress(submission: &Submission) -> PartnerProgress {
    plan(submission).partner_progress()
}

#[test]
fn only_a_code_that_the_partner_does_not_know_is_a_wrong_code() {
    assert!(decided(MessageKey::Invalid, None, None).is_wrong_code());
    assert!(!decided(MessageKey::AlreadyUsed, None, None).is_wrong_code());
    assert!(!no_answer().is_wrong_code());
}

#[test]
fn request_over_the_limit_is_due_at_once_and_is_no_failure() {
    let after = applied(&PartnerOutcome::AtLimit, &asking_first());
    assert_eq!(
        (after.status.state(), after.status.message_key()),
        (State::Unknown, MessageKey::Checking)
    );
    assert_eq!(
        (plan(&after).next_step_at, plan(&after).attempts_started),
        (NOW, 0)
    );
    assert_eq!(progress(&after), PartnerProgress::default());
    assert_eq!(PartnerOutcome::AtLimit.metrics(), [("PartnerAtLimit", 1)]);
}

#[test]
fn acceptance_earns_its_own_entries_or_the_campaigns() {
    let won = |outcome, entries, prize| {
        let status = applied(&decided(outcome, entries, prize), &asking_first()).status;
        (
            status.message_key(),
            status.entries(),
            status.instant_win().map(str::to_owned),
        )
    };
    assert_eq!(
        won(MessageKey::Entered, None, None),
        (MessageKey::Entered, 1, None)
    );
    assert_eq!(
        won(MessageKey::Entered, Some(4), Some("A kettle")),
        (MessageKey::Entered, 4, None)
    );
    let prize = |text: &str| Some(text.to_owned());
    assert_eq!(
        won(MessageKey::InstantWin, Some(2), Some("A kettle")),
        (MessageKey::InstantWin, 2, prize("A kettle"))
    );
    assert_eq!(
        won(MessageKey::InstantWin, None, None),
        (MessageKey::InstantWin, 1, prize("Instant prize"))
    );
}

#[test]
fn a_decision_keeps_the_partners_words_and_says_why_it_refuses() {
    let accepted = applied(&decided(MessageKey::Entered, None, None), &asking_first());
    assert_eq!(
        (accepted.upstream, accepted.reasons),
        (Some(upstream()), Vec::new())
    );
    let refused = applied(&decided(MessageKey::Invalid, None, None), &asking_first());
    assert_eq!(refused.status.message_key(), MessageKey::Invalid);
    assert_eq!(
        (refused.upstream, refused.reasons),
        (Some(upstream()), vec!["invalid".to_owned()])
    );
}

#[test]
fn used_code_is_refused_unless_a_request_may_have_used_it() {
    let used = decided(MessageKey::AlreadyUsed, None, None);
    let refused = applied(&used, &asking_first());
    assert_eq!(refused.status.message_key(), MessageKey::AlreadyUsed);
    let open = applied(&used, &asking(maybe_redeemed()));
    assert_eq!(
        (open.status.state(), plan(&open).assignee),
        (State::Unknown, Assignee::Operator)
    );
    assert_eq!(
        (open.upstream, open.reasons),
        (
            Some(upstream()),
            vec!["partner_used_when_asked_again".to_owned()]
        )
    );
    let other = applied(
        &decided(MessageKey::Invalid, None, None),
        &asking(maybe_redeemed()),
    );
    assert_eq!(other.status.state(), State::Rejected);
}

#[test]
fn without_an_answer_the_partner_is_asked_again_later_and_later() {
    for (attempts, wait) in [(0, 5), (1, 15), (2, 30), (3, 60), (7, 1_800), (8, 1_800)] {
        let before = asking(PartnerProgress {
            attempts,
            ..PartnerProgress::default()
        });
        let after = applied(&no_answer(), &before);
        assert_eq!(after.status.state(), State::Unknown);
        let expected = PendingSettlement {
            attempts_started: 0,
            next_step_at: later(wait),
            progress: Progress::Partner(PartnerProgress {
                attempts: attempts + 1,
                maybe_redeemed: false,
                unanswered_since: Some(NOW),
            }),
            anomaly: Some(Anomaly::from("timeout")),
            ..plan(&before).clone()
        };
        assert_eq!(plan(&after), &expected);
        assert!(after.reasons.is_empty());
    }
}

#[test]
fn jitter_moves_a_wait_by_a_fifth_and_a_speed_up_divides_it() {
    let planned = |jitter, speedup| {
        let retry = RetryContext {
            now: NOW,
            jitter,
            speedup,
        };
        let after = no_answer().apply(&asking_first(), 1, retry).expect("open");
        plan(&after).next_step_at.since(NOW)
    };
    assert_eq!(
        planned(0.0, RetrySpeedup::default()),
        Duration::from_secs(4)
    );
    assert_eq!(
        planned(1.0, RetrySpeedup::default()),
        Duration::from_secs(6)
    );
    assert_eq!(planned(0.5, RetrySpeedup::new(5)), Duration::from_secs(1));
}

#[test]
fn that_a_code_may_be_redeemed_is_never_forgotten() {
    let is_maybe_redeemed = |before: bool, now: bool| {
        let before = asking(PartnerProgress {
            maybe_redeemed: before,
            ..PartnerProgress::default()
        });
        progress(&applied(&PartnerOutcome::NoAnswer(timed_out(now)), &before)).maybe_redeemed
    };
    assert!(!is_maybe_redeemed(false, false));
    assert!(
        is_maybe_redeemed(true, false)
            && is_maybe_redeemed(false, true)
            && is_maybe_redeemed(true, true)
    );
}

#[test]
fn an_operator_takes_over_after_a_day_without_an_answer() {
    let day = 24 * 60 * 60;
    let unanswered_for = |seconds: u64| {
        let start = Timestamp::from_millis(
            NOW.as_millis() - i64::try_from(seconds).expect("small") * 1_000,
        );
        let before = PartnerProgress {
            unanswered_since: Some(start),
            ..PartnerProgress::default()
        };
        let after = applied(&no_answer(), &asking(before));
        assert_eq!(
            progress(&after),
            PartnerProgress {
                attempts: 1,
                ..before
            }
        );
        (plan(&after).assignee, after.reasons)
    };
    assert_eq!(unanswered_for(day - 1), (Assignee::Service, Vec::new()));
    assert_eq!(
        unanswered_for(day),
        (Assignee::Operator, vec!["partner_unanswered".to_owned()])
    );
}

#[test]
fn partner_behind_an_open_circuit_counts_as_not_asked() {
    let settling = PendingSettlement {
        progress: Progress::Partner(PartnerProgress {
            attempts: 3,
            ..PartnerProgress::default()
        }),
        anomaly: Some(Anomaly::from("timeout")),
        ..PendingSettlement::asking(NOW)
    };
    let before = Submission {
        settling: Some(settling),
        ..Submission::example()
    };
    let after = applied(
        &PartnerOutcome::CircuitOpen {
            retry_at: later(60),
        },
        &before,
    );
    let expected = PendingSettlement {
        attempts_started: 0,
        next_step_at: later(65),
        progress: Progress::Partner(PartnerProgress {
            attempts: 3,
            maybe_redeemed: false,
            unanswered_since: Some(NOW),
        }),
        ..plan(&before).clone()
    };
    assert_eq!(plan(&after), &expected);
}

#[test]
fn the_partners_latest_words_stay() {
    let words = Unanswered {
        upstream: Some(upstream()),
        ..timed_out(true)
    };
    let first = applied(&PartnerOutcome::NoAnswer(words), &asking_first());
    assert_eq!(first.upstream, Some(upstream()));
    let second = applied(&no_answer(), &first);
    assert_eq!(second.upstream, Some(upstream()));
}

#[test]
fn nothing_changes_a_settled_submission() {
    let settled = applied(&decided(MessageKey::Invalid, None, None), &asking_first());
    let open = PartnerOutcome::CircuitOpen { retry_at: NOW };
    for outcome in [
        decided(MessageKey::Entered, None, None),
        no_answer(),
        open,
        PartnerOutcome::AtLimit,
    ] {
        assert_eq!(outcome.apply(&settled, 1, retry()), Err(AlreadySettled));
    }
}

#[test]
fn a_missing_answer_is_counted_by_who_has_to_act() {
    let metrics = |owner| PartnerOutcome::NoAnswer(Unanswered::unasked("why", owner)).metrics();
    assert_eq!(metrics(FaultOwner::Partner), [("PartnerUnavailable", 1)]);
    assert_eq!(metrics(FaultOwner::Campaign), [("PartnerMisconfigured", 1)]);
    assert_eq!(metrics(FaultOwner::Service), [("Failed", 1)]);
    assert_eq!(
        PartnerOutcome::NoAnswer(Unanswered::service_failed()).metrics(),
        [("Failed", 1)]
    );
    let opened = Unanswered {
        opened_breaker: true,
        ..timed_out(false)
    };
    let expected = [("PartnerUnavailable", 1), ("PartnerCircuitOpen", 1)];
    assert_eq!(PartnerOutcome::NoAnswer(opened).metrics(), expected);
    assert_eq!(
        PartnerOutcome::CircuitOpen { retry_at: NOW }.metrics(),
        [("PartnerCircuitOpen", 1)]
    );
    assert_eq!(decided(MessageKey::Entered, None, None).metrics(), []);
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
    let phone = "0712345678".parse().expect("a phone");
    assert_eq!(partner_request(&submission, &phone), Some(expected.clone()));
    let scope = Scope {
        environment: Environment::Test,
        ..submission.scope.clone()
    };
    let test = Submission {
        scope,
        ..submission.clone()
    };
    assert_eq!(
        partner_request(&test, &phone),
        Some(PartnerRequest {
            livemode: false,
            ..expected
        })
    );
    assert_eq!(
        partner_request(
            &Submission {
                partner_code: None,
                ..submission
            },
            &phone
        ),
        None
    );
}
