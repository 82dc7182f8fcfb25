//! Entries, revocations, stops and starts at once, and in any order.

use std::pin::Pin;

use common::aws::moments_secret;
use common::domain::instant::Schedule;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use service_tests::interceptor::Selection;

use super::*;

type Step<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Writes of a claim, a revocation and a stop.
const WRITES: [Selection; 3] = [
    |_, body| body.contains("given_") && body.contains(":due"),
    |_, body| body.contains("given_") && body.contains(":none"),
    |_, body| body.contains("UpdateExpression") && body.contains("changes"),
];

#[tokio::test]
async fn claim_revocation_and_stop_at_once_keep_the_count() {
    // Each in turn is held until the other two are done.
    for (held, given) in [(0, 0), (1, 1), (2, 1)] {
        let (proxy, stack) = Stack::held().await;
        let mut entrants = Entrants::of_open_plan(stack).await;
        entrants.stack.clock.advance(Duration::from_hours(30));
        let winner = entrants.enter(1).await.remove(0);
        let (these, stack) = (&entrants, &entrants.stack);
        let revoke = revocation(&winner);
        stack.run_by("asha", &revoke).await.fine();
        stack.clock.advance(Duration::from_secs(60));
        let mut steps: Vec<Step<'_>> = vec![
            Box::pin(async { drop(these.entry(100, 100).await) }),
            Box::pin(async { drop(stack.run_by("juma", &revoke).await.fine()) }),
            Box::pin(async { drop(stack.fine(STOP).await) }),
        ];
        proxy.select(WRITES[held]);
        let first = steps.remove(held);
        let others = async {
            proxy.reached().await;
            proxy.stop();
            for step in steps {
                step.await;
            }
            proxy.release();
        };
        tokio::join!(first, others);
        let now_given = entrants.given().await;
        assert_eq!(now_given.iter().sum::<u32>(), given, "{held} was held");
        assert_eq!(now_given, entrants.held().await);

        entrants.stack.fine(START).await;
        entrants.enter(10).await;
        entrants.stack.clock.advance(Duration::from_hours(24));
        entrants.enter(10).await;
        assert_eq!(entrants.given().await, [8, 1]);
        assert_eq!(entrants.proved().await["holds"], true);
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    /// After these seconds.
    Enter(u64),
    /// The entry of a winner, counted from the latest.
    Revoke(usize),
    Stop,
    Start,
    Wait,
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => (0_u64..40).prop_map(Act::Enter),
        3 => (0_usize..3).prop_map(Act::Revoke),
        1 => Just(Act::Stop),
        2 => Just(Act::Start),
        4 => Just(Act::Wait),
    ]
}

/// The moments of the plan that counts.
async fn schedule(stack: &Stack) -> Schedule {
    let plans = stack.tables().plans;
    let state = plans.state(&live()).await.expect("it answers");
    let state = state.expect("a state");
    let stored = plans.get(&live(), state.plan).await.expect("it answers");
    let stored = stored.expect("a plan");
    let secret = moments_secret::current(&stack.aws()).await;
    let secret = secret.expect("it answers");
    let secret = secret.plan_secret(&live(), &stored.name).expect("32 bytes");
    let randomness = state.round.expect("it is armed").randomness();
    Schedule::new(stored.plan().expect("a plan"), &secret, randomness).expect("its secret")
}

#[tokio::test]
async fn any_order_of_acts_keeps_given_below_due_and_is_proved() {
    let acts = prop::collection::vec(any_act(), 60);
    let mut runner = TestRunner::deterministic();
    for _ in 0..4 {
        let acts = acts.new_tree(&mut runner).expect("acts").current();
        let entrants = Entrants::of_open_plan(Stack::empty().await).await;
        let (stack, mut entered, mut won) = (&entrants.stack, 0, Vec::new());
        let schedule = schedule(stack).await;
        stack.clock.advance(Duration::from_hours(3));
        for act in &acts {
            match act {
                Act::Enter(seconds) => {
                    stack.clock.advance(Duration::from_secs(*seconds));
                    // Each phone twice, so that some are at their cap.
                    let reply = entrants.entry(entered / 2, entered).await;
                    entered += 1;
                    won.extend((!reply["instant_win"].is_null()).then_some(reply));
                }
                Act::Revoke(back) if *back < won.len() => {
                    let winner = won.remove(won.len() - 1 - back);
                    entrants.revoke(&winner).await;
                }
                Act::Revoke(_) => {}
                Act::Stop => drop(stack.fine(STOP).await),
                Act::Start => drop(stack.fine(START).await),
                Act::Wait => stack.clock.advance(Duration::from_hours(4)),
            }
            let (given, now) = (entrants.given().await, stack.clock.now());
            assert_eq!(given, entrants.held().await, "{acts:?}");
            for (given, moments) in given.iter().zip(schedule.all_moments()) {
                let due = moments.partition_point(|moment| *moment <= now);
                let given = usize::try_from(*given).expect("few");
                assert!(given <= due, "{given} of {due}: {acts:?}");
            }
        }
        let proved = entrants.proved().await;
        assert_eq!(proved["holds"], true, "{acts:?}");
        println!("{entered} entries, {} prizes held", won.len());
    }
}
