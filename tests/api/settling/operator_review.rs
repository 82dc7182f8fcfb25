//! Submissions under review, as the API shows and lists them.

use std::time::Duration;

use common::domain::scope::Environment;
use common::domain::settling::{Anomaly, Assignee, PendingSettlement};
use common::domain::submission::Submission;
use common::store::submission_writes::SettleResult;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::receipts::{TIME, id_of, receipts_alone};

use super::{enter, set_up};

#[tokio::test]
async fn step_begun_too_often_is_left_with_what_was_met_before() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let submitted = enter(&campaign, 1, "GOOD010001").await;
    let fresh = campaign.record(&id_of(&submitted)).await;
    let anomaly = Anomaly {
        summary: "connect".to_owned(),
        excerpt: Some("Karibu".to_owned()),
    };
    let settling = fresh.settling.clone().expect("it is open");
    let settling = PendingSettlement {
        attempts_started: 5,
        anomaly: Some(anomaly),
        ..settling
    };
    let begun = Submission {
        settling: Some(settling),
        ..fresh.changed(fresh.updated_at)
    };
    let written = campaign.service.tables.store.settle(&fresh, &begun, None);
    assert_eq!(written.await.expect("it answers"), SettleResult::Committed);
    assert_eq!(settler.settle_due().await, 1);
    let left = campaign.record(&id_of(&submitted)).await;
    assert_eq!(left.reasons, ["step_never_finished"]);
    let settling = left.settling.expect("it is open");
    let anomaly = settling.anomaly.expect("it says why");
    assert_eq!(settling.assignee, Assignee::Operator);
    assert_eq!(
        anomaly.summary,
        "a step was begun again and again, and never finished; connect"
    );
    assert_eq!(anomaly.excerpt.as_deref(), Some("Karibu"));
}

#[tokio::test]
async fn longest_wait_for_a_person_is_told_over_all_campaigns() {
    let (first, settler) = set_up(receipts_alone).await;
    let second = TestCampaign::changed(&first.service, receipts_alone).await;
    let submissions = first.service.tables.store.submissions();
    let longest = async |environment| {
        submissions
            .longest_waiting_for_a_person(environment)
            .await
            .expect("it answers")
    };
    assert_eq!(longest(Environment::Test).await, None);
    let since = first.service.clock.now();
    for campaign in [&second, &first] {
        let key = &campaign.test_key;
        let receipt = campaign.typed(key, "TEST0REVIEW", TIME).await;
        let submitted = campaign.with_receipt(key, &phone(1), "", &receipt).await;
        assert_eq!(submitted.status, 200, "{}", submitted.text);
        assert_eq!(settler.settle_due().await, 1);
        assert_eq!(longest(Environment::Test).await, Some(since));
        first.advance(Duration::from_secs(60));
    }
    assert_eq!(
        longest(Environment::Live).await,
        None,
        "tests are left lying"
    );
    let scope = first.scope(Environment::Test);
    let (unsettled, _) = submissions
        .list_unsettled(&scope)
        .await
        .expect("it answers");
    assert_eq!(unsettled.len(), 1);
}
