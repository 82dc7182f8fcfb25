use super::super::vector_tests::{ENTRIES, header, schedule, schedule_of, time};
use super::super::{Caps, Header};
use super::*;

fn rows() -> Vec<Row<'static>> {
    let row = |(at, reference, entrant, prize)| Row {
        accepted_at: time(at),
        reference,
        entrant,
        prize,
        revoked_at: None,
    };
    ENTRIES.map(row).to_vec()
}

#[test]
fn vectors_entries_pass_the_check() {
    assert_eq!(check(&rows(), &schedule(), &[]), Ok(()));
}

#[test]
fn check_finds_each_fault() {
    let fault = |change: fn(&mut Vec<Row<'static>>)| {
        let mut rows = rows();
        change(&mut rows);
        check(&rows, &schedule(), &[])
            .expect_err("a fault")
            .to_string()
    };
    let early = fault(|rows| rows[1].accepted_at = time(1_798_079_372_037));
    assert_eq!(
        early,
        "BBBB-3333 won before a moment was due: 1 given, 0 due"
    );
    let passed_over = fault(|rows| rows[4].prize = None);
    assert_eq!(
        passed_over,
        "EEEE-6666 entered while a prize was open, and did not win"
    );
    let last = fault(|rows| rows[12].prize = None);
    assert_eq!(
        last,
        "NNNN-6A6A entered while a prize was open, and did not win"
    );
    assert_eq!(
        fault(|rows| rows[3].prize = Some(0)),
        "DDDD-5555 is over the cap"
    );
    let twice = fault(|rows| rows[2].prize = Some(0));
    assert_eq!(
        twice,
        "CCCC-4444 won before a moment was due: 2 given, 1 due"
    );
    assert_eq!(fault(|rows| rows.push(rows[0])), "AAAA-2222 is there twice");
    let unknown = fault(|rows| rows[1].prize = Some(2));
    assert_eq!(unknown, "BBBB-3333 won a prize that the plan does not have");
}

#[test]
fn prize_given_back_goes_to_the_next_entry() {
    let mut rows = rows();
    rows[7].revoked_at = Some(time(1_798_140_000_000));
    let refused = check(&rows, &schedule(), &[]).expect_err("open again");
    assert_eq!(refused, Fault::PassedOver("KKKK-3A3A".to_owned()));
    rows[9].prize = Some(1);
    // Two prizes are its entrant's cap.
    rows[11].prize = None;
    assert_eq!(check(&rows, &schedule(), &[]), Ok(()));
}

/// Environments see a return some seconds late, and its time is of another clock.
#[test]
fn time_of_a_return_is_in_doubt_by_the_tolerance() {
    let revoked = 1_798_150_000_000;
    let check = |shift, prize| {
        let mut rows = rows();
        rows[7].revoked_at = Some(time(revoked));
        rows.push(Row {
            accepted_at: time(revoked + shift),
            reference: "QQQQ-7A7A",
            entrant: "q",
            prize,
            revoked_at: None,
        });
        check(&rows, &schedule(), &[]).map_err(|fault| fault.to_string())
    };
    assert_eq!(check(9_999, None), Ok(()));
    let passed_over = "QQQQ-7A7A entered while a prize was open, and did not win";
    assert_eq!(check(10_000, None), Err(passed_over.to_owned()));
    assert_eq!(check(-10_000, Some(1)), Ok(()));
    let early = "QQQQ-7A7A won before a moment was due: 2 given, 1 due";
    assert_eq!(check(-10_001, Some(1)), Err(early.to_owned()));
}

/// EEEE-6666 did not win while a prize was open.
#[test]
fn entries_of_a_stop_are_not_passed_over() {
    let mut rows = rows();
    rows.truncate(5);
    rows[4].prize = None;
    let at = rows[4].accepted_at;
    for (start, end, expected) in [
        (10_000, 30_000, true),
        (10_001, 30_000, false),
        (-30_000, -9_999, true),
        (-30_000, -10_000, false),
    ] {
        let stop = at.shifted(start)..at.shifted(end);
        assert_eq!(
            check(&rows, &schedule(), &[stop]).is_ok(),
            expected,
            "{start} {end}"
        );
    }
}

/// EEEE-6666 won.
#[test]
fn nothing_is_won_within_a_stop() {
    let mut rows = rows();
    rows.truncate(5);
    let at = rows[4].accepted_at;
    for (start, end, expected) in [
        (-10_000, 10_001, false),
        (-9_999, 10_001, true),
        (-10_000, 10_000, true),
    ] {
        let stop = at.shifted(start)..at.shifted(end);
        let stopped = Fault::Stopped("EEEE-6666".to_owned());
        let expected = if expected { Ok(()) } else { Err(stopped) };
        assert_eq!(
            check(&rows, &schedule(), &[stop]),
            expected,
            "{start} {end}"
        );
    }
}

/// FFFF-7777, of `d`, did not win while a prize was open.
#[test]
fn open_prize_waits_the_tolerance_for_the_next_winner() {
    let winner = |shift, entrant, prize| {
        let mut rows = rows();
        rows.truncate(7);
        rows[5].prize = None;
        rows[6].accepted_at = rows[5].accepted_at.shifted(shift);
        (rows[6].entrant, rows[6].prize) = (entrant, Some(prize));
        // At its entrant's cap: it neither wins nor waits.
        rows[3].accepted_at = rows[6].accepted_at;
        check(&rows, &schedule(), &[])
    };
    let passed_over = Err(Fault::PassedOver("FFFF-7777".to_owned()));
    assert_eq!(winner(10_000, "e", 0), Ok(()));
    assert_eq!(winner(10_001, "e", 0), passed_over);
    assert_eq!(winner(10_000, "e", 1), passed_over);
    assert_eq!(winner(10_000, "d", 1), Ok(()));
}

#[test]
fn total_cap_is_of_all_days() {
    let header = Header {
        caps: Caps { day: 1, total: 1 },
        ..header()
    };
    let ends = [0, 1].map(|day: usize| header.days[day].end().shifted(-1));
    let won = |index: usize, reference| Row {
        accepted_at: ends[index],
        reference,
        entrant: "a",
        prize: Some(0),
        revoked_at: None,
    };
    let rows = [won(0, "AAAA-2222"), won(1, "BBBB-3333")];
    let over_cap = Fault::OverCap("BBBB-3333".to_owned());
    assert_eq!(check(&rows, &schedule_of(header), &[]), Err(over_cap));
}
