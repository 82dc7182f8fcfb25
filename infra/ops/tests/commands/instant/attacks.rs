//! A reveal that is interrupted, planted files and requests, another plan, and wrong clocks.

use common::clock::Clock;
use common::domain::instant::Claim;
use common::domain::win::Win;
use service_tests::moments::sweep;

use super::*;
use crate::draw::stored;
use crate::support::{live, run};

/// Armed, with an entry before any moment, and stopped.
async fn stopped() -> Stack {
    let stack = armed().await;
    stack.clock.advance(Duration::from_secs(160 * 60 + 1));
    accepted(&stack, stack.clock.now()).await;
    stack.clock.advance(Duration::from_secs(60));
    stack.fine(STOP).await;
    stack.run_by("asha", reveal(&stack, LIVE, "proof")).await;
    stack
}

fn key(stack: &Stack, file: &str) -> String {
    let commitment = stack.read("plan/commitment.txt");
    format!("chai-bora-2026/live/_instant/{commitment}/{file}")
}

#[tokio::test]
async fn interrupted_reveal_never_opens_again_and_goes_on() {
    let stack = stopped().await;
    let (evidence, secret) = (stored::evidence(&stack), key(&stack, "secret.txt"));
    evidence.put(&secret, "").await;
    let interrupted = stack.run_by("juma", reveal(&stack, LIVE, "proof")).await;
    interrupted.refused("evidence_differs");
    let rows = evidence.get(&key(&stack, "rows.csv")).await;
    let result = evidence.get(&key(&stack, "result.json")).await;

    assert_eq!(stack.json(SHOW).await["state"], "being revealed");
    stack.refused(START, "plan_revealed").await;
    let other = plan(&stack, LIVE, "other");
    stack.refused(other, "plan_not_revealed").await;
    evidence.delete(&secret).await;
    // A later win would not change what is published.
    accepted(&stack, stack.clock.now()).await;
    let held = stack.json_by("juma", reveal(&stack, LIVE, "proof")).await;
    assert_eq!(fields(&held, "holds rows"), "true 1");
    assert_eq!(stack.read("proof/rows.csv"), rows);
    assert_eq!(stack.read("proof/result.json"), result);
    assert_eq!(stack.json(SHOW).await["state"], "revealed");
}

#[tokio::test]
async fn planted_files_are_not_revealed() {
    let stack = stopped().await;
    let evidence = stored::evidence(&stack);
    for name in ["rows.csv", "result.json"] {
        let planted = key(&stack, name);
        evidence.put(&planted, "").await;
        for _ in 0..2 {
            let refused = stack.run_by("juma", reveal(&stack, LIVE, "proof")).await;
            refused.refused("evidence_differs");
        }
        assert!(!stack.path("proof").exists());
        evidence.delete(&planted).await;
    }
    let held = stack.json_by("juma", reveal(&stack, LIVE, "proof")).await;
    assert_eq!(fields(&held, "holds rows"), "true 1");
}

#[tokio::test]
async fn wrong_clock_of_an_operator_changes_no_time() {
    let stack = with_prizes().await;
    stack.fine(plan(&stack, LIVE, "plan")).await;
    stack.clock.advance(NOTICE);
    let now = stack.clock.now();
    let slow = Clock::manual(now.before(Duration::from_hours(1)));
    let fast = Clock::manual(now.after(Duration::from_hours(48)));
    for (clock, command) in [(&slow, ARM), (&fast, STOP), (&slow, START), (&fast, STOP)] {
        stack.run_at(clock, command).await.fine();
    }
    let shown = stack.run_at(&fast, format!("{SHOW} --json")).await.json();
    let changes = list_of(&shown["changes"]).iter();
    let times: Vec<Timestamp> = changes
        .map(|change| text_of(&change["at"]).parse().expect("a time"))
        .collect();
    let later = [0, 1, 2, 3].map(|millis| now.after(Duration::from_millis(millis)));
    assert_eq!(times, later);
    assert_eq!(shown["prizes"][0]["due"], 0, "no day is over");
    for operator in ["asha", "juma"] {
        let env = stack.env_with(&[("AWS_ACCESS_KEY_ID", operator)]);
        let command = format!("{} --by {operator}", reveal(&stack, LIVE, "proof"));
        run(command, env, &fast).await.fine();
    }
    let shown = stack.json(SHOW).await;
    assert_eq!(shown["revealed_at"], json!(now.to_string()));
}

#[tokio::test]
async fn plan_that_was_published_late_is_not_armed() {
    let stack = with_prizes().await;
    stack.fine(plan(&stack, LIVE, "plan")).await;
    let (evidence, commitment) = (stored::evidence(&stack), key(&stack, "commitment.txt"));
    let text = evidence.get(&commitment).await;
    evidence.delete(&commitment).await;
    stack.clock.advance(NOTICE);
    stack.refused(ARM, "plan_late").await;
    // As if publishing it had broken off until five minutes before the round.
    let early = stack.clock.now();
    stack.fine(plan(&stack, LIVE, "second")).await;
    let commitment = commitment.replace(&text, &stack.read("second/commitment.txt"));
    let text = stack.read("second/commitment.txt");
    stack.clock.advance(Duration::from_secs(15 * 60));
    evidence.put(&commitment, text).await;
    stack.clock.advance(Duration::from_secs(5 * 60));
    assert!(stack.clock.now() >= early.after(NOTICE));
    stack.refused(ARM, "plan_late").await;
    assert_eq!(stack.json(SHOW).await["state"], "planned");
}

#[tokio::test]
async fn win_that_is_added_to_a_logged_day_is_found() {
    let stack = armed().await;
    stack.clock.advance(Duration::from_hours(48));
    sweep(&stack.env, &stack.clock).await;
    let shown = stack.json(SHOW).await;
    let logged = list_of(&shown["days"]).iter();
    let logged: Vec<_> = logged.map(|day| day["sha256"].clone()).collect();
    let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(logged, [json!(of_nothing), json!(of_nothing)]);

    // As who may write the tables does, an hour before the last day ended.
    let at = NOW.after(Duration::from_hours(44));
    let prize = "Airtime 1,000".to_owned();
    let status = SubmissionStatus::accepted(1, Some(prize.clone()));
    let made = Submission {
        created_at: at,
        updated_at: at,
        ..submission(status, None)
    };
    write(&stack, &made, None).await;
    let tables = stack.tables();
    let state = tables.plans.state(&live()).await;
    let claim = Claim {
        plan: state.expect("it answers").expect("a state").plan,
        prize: 0,
        text: prize,
        due: 8,
        day: 1,
        caps: service_tests::moments::NO_CAPS,
    };
    let won = Win::new(None, &made).expect("a win");
    let by_moment = won.clone().by_claim(&claim);
    let changed = tables.wins().log(&won, &by_moment).await;
    assert!(changed.expect("it answers"));

    stack.fine(STOP).await;
    stack.run_by("asha", reveal(&stack, LIVE, "proof")).await;
    let told = stack.run_by("juma", reveal(&stack, LIVE, "proof")).await;
    let expected = "day 1's wins are not those that were logged";
    assert_contains!(told.refused("plan_differs").message, expected);
    assert_contains!(python(&stack, "proof"), expected);
}

#[tokio::test]
async fn two_people_start_a_plan_that_follows_another() {
    let stack = armed().await;
    stack.fine(STOP).await;
    stack.by_two(reveal(&stack, LIVE, "proof")).await;
    let first = stack.json(SHOW).await["commitment"].clone();
    stack.fine(plan(&stack, LIVE, "second")).await;
    // The table can be changed, the evidence cannot.
    let key = format!(
        "part = 'chai-bora-2026#live#plan' AND record = '{}'",
        text_of(&first)
    );
    stack.sql(format!("DELETE FROM instant WHERE {key}")).await;
    stack.clock.advance(NOTICE);
    assert_eq!(stack.json(ARM).await["state"], "armed");
    assert_eq!(stack.json_by("asha", START).await["state"], "armed");
    stack
        .run_by("asha", START)
        .await
        .refused("second_person_needed");
    assert_eq!(stack.json_by("juma", START).await["state"], "open");
    stack.fine(STOP).await;
    assert_eq!(stack.json_by("asha", START).await["state"], "open");
    stack.fine(STOP).await;
    for operator in ["asha", "juma"] {
        stack
            .run_by(operator, reveal(&stack, LIVE, "second-proof"))
            .await;
    }
    let result = parse_json(&stack.read("second-proof/result.json"));
    assert_eq!(result["other_plans"], json!([first]));
}

#[tokio::test]
async fn request_that_the_log_does_not_have_counts_for_nothing() {
    let stack = armed().await;
    stack.fine(STOP).await;
    let tables = stack.tables();
    let before = tables
        .plans
        .state(&live())
        .await
        .expect("it answers")
        .expect("a state");
    stack.run_by("asha", reveal(&stack, LIVE, "proof")).await;
    let asked = tables
        .plans
        .state(&live())
        .await
        .expect("it answers")
        .expect("a state");
    let mut forged = asked.clone();
    let request = forged.request.as_mut().expect("a request");
    request.decision.by = "neema".to_owned();
    request.decision.identity = Some("arn:aws:iam::000000000000:user/neema".to_owned());
    assert_ne!(before, forged);
    assert!(
        tables
            .plans
            .change(&live(), &asked, &forged)
            .await
            .expect("it answers")
    );
    stack.run_by("asha", reveal(&stack, LIVE, "proof")).await;
    assert!(!stack.path("proof").exists());
}
