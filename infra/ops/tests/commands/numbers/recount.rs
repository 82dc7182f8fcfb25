//! Recounts: of wrong numbers, and what they wait for.

use super::*;

/// Pauses long enough for a recount.
async fn pause(stack: &Stack) {
    stack.fine("campaign pause chai-bora-2026").await;
    stack.clock.advance(QUIET);
}

/// Verifies wrong numbers.
async fn verify_wrong(stack: &Stack) -> Value {
    let ended = stack.run(format!("{VERIFY} --json")).await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE, "{}", ended.err);
    serde_json::from_str(&ended.out).expect("one JSON document")
}

#[tokio::test]
async fn wrong_number_is_named_and_set_by_a_recount() {
    let (stack, mut counter) = counted().await;
    let right = stack.json(VERIFY).await;
    assert_eq!(fields(&right, "differences records"), "[] 4");
    let text = stack.fine(VERIFY).await;
    assert!(text.ends_with("All numbers are right.\n"), "{text}");
    let wrong = Amount {
        records: 5,
        entries: -1,
    };
    damage(&stack, Metric::Days, ALL_DAYS, wrong).await;
    let wrong = verify_wrong(&stack).await;
    insta::assert_snapshot!(format!("{:#}", wrong["differences"]), @r#"
    [
      {
        "counted": {
          "entries": 1,
          "records": 7
        },
        "day": "all",
        "dimension": "2026-03-01",
        "expected": {
          "entries": 2,
          "records": 2
        },
        "hour": "",
        "is_changing": false,
        "metric": "days"
      }
    ]
    "#);
    let text = stack.run(VERIFY).await.out;
    assert_contains!(
        text,
        "days    all              2026-03-01  7        1        2            2        false\n"
    );

    stack.refused(RECOUNT, "not_paused").await;
    stack.fine("campaign pause chai-bora-2026").await;
    stack.refused(RECOUNT, "not_quiet").await;
    stack.clock.advance(QUIET);
    assert_eq!(stack.json(RECOUNT).await["corrected"], true);
    assert_eq!(stack.json(VERIFY).await["differences"], json!([]));

    // Records from before streams were not counted.
    write(
        &stack,
        &submission(SubmissionStatus::accepted(1, None), None),
        None,
    )
    .await;
    counter.next_batches().await;
    assert!(!list_of(&verify_wrong(&stack).await["differences"]).is_empty());
    stack.clock.advance(QUIET);
    stack.fine(RECOUNT).await;
    assert_eq!(stack.json(VERIFY).await["differences"], json!([]));
}

#[tokio::test]
async fn one_of_two_operators_recounts_at_once() {
    let stack = Stack::with_chai().await;
    write(&stack, &submission(won(), None), None).await;
    pause(&stack).await;
    let (tables, scope, read) = (stack.tables(), live(), AtomicU64::new(0));
    let now = stack.clock.now();
    let verify = || Box::pin(ops_core::statistics::verify(&tables, &scope, &read, now));
    let (one, other) = (
        verify().await.expect("it answers"),
        verify().await.expect("it answers"),
    );
    assert!(!one.differences.is_empty());
    ops_core::statistics::recount(&tables, &scope, &one, now)
        .await
        .expect("it answers");
    let second = ops_core::statistics::recount(&tables, &scope, &other, now).await;
    assert_eq!(second.expect_err("they are right").code, "numbers_changed");
    assert_eq!(stack.json(VERIFY).await["differences"], json!([]));
}

#[tokio::test]
async fn recount_waits_for_the_changes_of_an_erasure() {
    let (stack, mut counter) = counted().await;
    pause(&stack).await;
    let listed = stack.json("prize list --campaign chai-bora-2026").await;
    let won = text_of(&listed["prizes"][0]["ref"]);
    let forfeit = format!("prize forfeit {won} --reason excluded --inspector Neema --yes");
    stack.fine(forfeit).await;
    let erase = "person erase --phone 0712345678 --why 'Letter of 3 March' --yes";
    stack.fine(erase).await;
    stack.refused(RECOUNT, "not_quiet").await;
    counter.count_all().await;
    stack.clock.advance(QUIET);
    assert_eq!(stack.json(RECOUNT).await["differences"], json!([]));
}

/// Adds to the first number of a metric and day.
async fn damage(stack: &Stack, metric: Metric, day: &str, wrong: Amount) {
    let (tables, scope) = (stack.tables(), live());
    let counters = tables.statistics.counters(&scope, metric, day).await;
    let counters = counters.expect("it answers");
    let (total, counted) = counters.iter().next().expect("a number");
    let corrected = tables.statistics.correct(total, counted, wrong).await;
    assert!(corrected.expect("it answers"));
}

const ONE: Amount = Amount {
    records: 1,
    entries: 0,
};

#[tokio::test]
async fn paused_campaign_is_recounted_although_it_refuses() {
    let (stack, mut counter) = counted().await;
    damage(&stack, Metric::Prizes, "2026-03-01", ONE).await;
    damage(&stack, Metric::Days, ALL_DAYS, ONE).await;
    pause(&stack).await;
    let refused = SubmissionStatus::rejected(MessageKey::CampaignPaused);
    let refused = Submission {
        created_at: stack.clock.now(),
        updated_at: stack.clock.now(),
        ..submission(refused, None)
    };
    let tables = stack.tables();
    let key = "the-key-of-the-refusal".parse().expect("a key");
    let write = SubmissionWrite {
        keys: RecordKeys {
            scope: &refused.scope,
            key: &key,
            entrant: &refused.entrant_id,
            code: None,
            receipt: None,
        },
        body_hash: "",
        submission: &refused,
    };
    let written = tables
        .store
        .create_rejected(write, None, stack.clock.now())
        .await
        .expect("it answers");
    assert!(matches!(written, WriteResult::Committed), "{written:?}");

    let ended = stack.run(format!("{RECOUNT} --json")).await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE, "{}", ended.err);
    let report = parse_json(&ended.out);
    assert_eq!(report["corrected"], false);
    counter.count_all().await;
    let left = differing_metrics(&stack).await;
    assert_eq!(
        left,
        ["days"],
        "the refusal is not counted twice, and the prize is right"
    );
    stack.clock.advance(QUIET);
    assert_eq!(stack.json(RECOUNT).await["corrected"], true);
    assert_eq!(stack.json(VERIFY).await["differences"], json!([]));
}

/// Metrics that differ.
async fn differing_metrics(stack: &Stack) -> Vec<String> {
    let ended = stack.run(format!("{VERIFY} --json")).await;
    let report = parse_json(&ended.out);
    let differences = list_of(&report["differences"]).iter();
    differences
        .map(|difference| text_of(&difference["metric"]).to_owned())
        .collect()
}

#[tokio::test]
async fn recount_waits_for_the_deletion_of_phones() {
    let (stack, _) = counted().await;
    let kept = CHAI.replace("end: null", "end: 2026-03-01T12:00:00+03:00");
    stack.apply(kept + "retention: { phones_days: 1 }\n").await;
    damage(&stack, Metric::Days, ALL_DAYS, ONE).await;
    stack.clock.advance(Duration::from_hours(3 * 24));
    pause(&stack).await;
    let not_begun = stack.refused(RECOUNT, "not_quiet").await;
    assert_contains!(not_begun.message, "are being deleted");

    let tables = stack.tables();
    let campaign = tables
        .campaign(&live().campaign)
        .await
        .expect("it is there");
    let mut retention = Revised::<CampaignRetention>::default();
    while let Some(next) = retention.value.next(&campaign, stack.clock.now()) {
        retention.value.update(Deletion {
            finished_at: Some(stack.clock.now()),
            ..next
        });
    }
    assert!(
        tables
            .retention
            .save(&campaign.slug, &retention)
            .await
            .expect("it answers")
    );
    stack.refused(RECOUNT, "not_quiet").await;
    stack.clock.advance(QUIET);
    assert_eq!(stack.json(RECOUNT).await["corrected"], true);
}
