//! Facts of a campaign beside its file: numbers, the pause switch, retention.

use common::domain::scope::Environment;
use common::domain::statistics::{ALL_DAYS, Amount, Counter, Metric};
use common::store::retention::{
    CampaignRetention, Deletion, PostponeReason, Postponement, Revised,
};
use serde_json::Value;
use service_tests::text::list_of;

use crate::support::{CHAI, Stack, live};

const SLUG: &str = "chai-bora-2026";

fn changed(stack: &Stack, from: &str, to: &str) -> String {
    assert!(CHAI.contains(from), "{from}");
    stack.file("changed.yaml", CHAI.replace(from, to))
}

#[tokio::test]
async fn a_change_is_judged_by_what_has_been_counted() {
    let stack = Stack::with_chai().await;
    let scope = live();
    let tables = stack.tables();
    let add = async |metric, day: &str, dimension: &str, records, entries| {
        let (day, dimension) = (day.to_owned(), dimension.to_owned());
        let counter = Counter {
            scope: scope.clone(),
            metric,
            day,
            hour: String::new(),
            dimension,
        };
        let amount = Amount { records, entries };
        assert!(
            tables
                .statistics
                .correct(&counter, Amount::default(), amount)
                .await
                .expect("it answers")
        );
    };
    for day in ["2026-02-27", "2026-02-28"] {
        add(Metric::Days, ALL_DAYS, day, 3_500, 6_000).await;
        add(Metric::EntriesPerPhone, day, "3-5", 700, 2_800).await;
        add(Metric::EntriesPerPhone, day, "6+", 600, 4_200).await;
    }
    for (from, to, expected) in [
        (
            "end: null",
            "end: 2026-02-01T00:00:00+03:00",
            "12,000 entries so far; the window ends in the past: ",
        ),
        // An accepted submission has two entries.
        (
            "phone_total: 20",
            "phone_total: 2",
            "accepted; by the numbers, 1,200 phones have 6 entries or more\n",
        ),
        (
            "phone_total: 20",
            "phone_total: 1",
            "accepted; by the numbers, 2,600 phones have 3 entries or more\n",
        ),
        (
            "phone_total: 20",
            "phone_total: 3",
            "no further submission accepted\n",
        ),
        (
            "entries_per_submission: 2",
            "entries_per_submission: 1",
            "accepted ones keep their 12,000 entries\n",
        ),
    ] {
        let file = changed(&stack, from, to);
        let said = stack.fine(format!("campaign apply --dry-run {file}")).await;
        assert_contains!(said, expected);
    }
}

#[tokio::test]
async fn a_campaign_shows_who_turned_its_pause_switch_when_and_why() {
    let stack = Stack::with_chai().await;
    let shown = async || stack.fine(format!("campaign show {SLUG}")).await;
    assert_contains!(shown().await, "\npaused                  false\n");
    stack
        .fine(format!(
            "campaign pause {SLUG} --why 'codes were leaked' --by asha"
        ))
        .await;
    let at = "2026-03-01 03:00:00 Africa/Dar_es_Salaam by asha (local)";
    assert_contains!(shown().await, format!(" paused {at}: codes were leaked\n"));
    let row = list_of(&stack.json("audit list").await["rows"])
        .last()
        .cloned();
    assert_eq!(row.expect("a row")["why"], "codes were leaked");
    // A file without it keeps the pause and its author.
    stack
        .fine(format!(
            "campaign apply --yes {}",
            changed(&stack, "Shinda", "Pata")
        ))
        .await;
    let document = stack.json(format!("campaign show {SLUG}")).await;
    assert_eq!(document["pause_change"]["by"], "asha (local)");
    stack
        .fine(format!("campaign resume {SLUG} --by juma"))
        .await;
    let resumed = " resumed 2026-03-01 03:00:00 Africa/Dar_es_Salaam by juma (local)\n";
    assert_contains!(shown().await, resumed);
    let nameless = stack.fine(format!("campaign pause {SLUG}")).await;
    assert_contains!(nameless, "paused");
    assert!(
        shown().await.contains("Dar_es_Salaam by asha (local)\n"),
        "from OPS_BY: {}",
        shown().await
    );
    stack
        .refused(format!("campaign pause {SLUG} --why ' '"), "words_invalid")
        .await;
}

#[tokio::test]
async fn a_campaign_shows_what_it_keeps_and_what_is_deleted() {
    let stack = Stack::with_chai().await;
    let shown = async || stack.fine(format!("campaign show {SLUG}")).await;
    let apply = async |end: &str| {
        let file = format!(
            "{}retention: {{ phones_days: 30, photos_days: 7 }}\n",
            CHAI.replace("end: null", end)
        );
        stack
            .fine(format!(
                "campaign apply --yes --delete-now {}",
                stack.file("kept.yaml", file)
            ))
            .await;
    };
    apply("end: null").await;
    assert_contains!(
        shown().await,
        " 30 days after the end: kept, because the campaign has no window.end\n"
    );
    apply("end: 2026-02-20T00:00:00+03:00").await;
    let text = shown().await;
    assert_contains!(
        text,
        " 30 days after the end: deleted after 2026-03-22 00:00:00 Africa/Dar_es_Salaam\n",
        " 7 days after the end: deleted after 2026-02-27 00:00:00 Africa/Dar_es_Salaam\n",
        "  photos, live          begins within the hour\n"
    );
    assert_lacks!(text, "  phones, live");

    let tables = stack.tables();
    let campaign = tables
        .campaign(&SLUG.parse().expect("a slug"))
        .await
        .expect("it is there");
    let mut retention = CampaignRetention::default();
    let at = "2026-03-01T00:00:00Z".parse().expect("a time");
    let begun = retention.next(&campaign, at).expect("photos of test");
    let why = PostponeReason::Unsettled;
    retention.update(Deletion {
        postponed: Some(Postponement {
            reason: why,
            until: at,
        }),
        ..begun.clone()
    });
    let live = Deletion {
        environment: Environment::Live,
        done: 1_234,
        finished_at: Some(at),
        ..begun
    };
    retention.update(live);
    let record = Revised {
        revision: 0,
        value: retention,
    };
    assert!(
        tables
            .retention
            .save(&campaign.slug, &record)
            .await
            .expect("it answers")
    );
    let text = shown().await;
    assert_contains!(
        text,
        "photos, live          1,234 photos are deleted, finished 2026-03-01 03:00:00 Africa/Dar_es_Salaam\n",
        "photos, test          0 photos are deleted; waits until every submission is settled; "
    );
    let document = stack.json(format!("campaign show {SLUG}")).await;
    assert_eq!(document["retention_progress"][1]["live"]["deleted"], 1_234);
    assert_eq!(document["retention_progress"][0]["live"], Value::Null);
}
