//! The complaint "my code says used": `ops submission show`, `timeline` and `list --code`.

use std::time::Duration;

use local::stack::Options;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::service::Service;

use crate::support::{Ended, run};

async fn ops(service: &Service, args: &[&str]) -> Ended {
    let ended = run(args, service.env.clone(), &service.clock).await;
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn complaint_is_answered_in_one_sentence() {
    let clock = common::clock::Clock::manual(service_tests::service::NOON);
    let service = Service::with_options(Options {
        clock,
        background: false,
        ..Options::default()
    });
    let campaign = TestCampaign::on(&service, plain()).await;
    let holder = campaign.submit(&phone(1), &campaign.code(1)).await;
    service.clock.advance(Duration::from_secs(12 * 60 + 5));
    let refused = campaign.submit(&phone(2), &campaign.code(1)).await;
    assert_eq!(refused.field("message_key"), "already_used");
    let (id, reference) = (holder.field("id"), holder.field("ref"));
    let (id, reference) = (
        id.as_str().expect("an id"),
        reference.as_str().expect("a reference"),
    );
    for secret in [id, reference, "first", "holder", "refusal"] {
        assert!(
            !refused.text.contains(secret),
            "{secret} is not for callers: {}",
            refused.text
        );
    }

    let masked = "+2557\u{2022}\u{2022}\u{2022}\u{2022}\u{2022}001";
    let entered = format!("This code was entered on 15 Jun 15:00 by {masked} ({reference})");
    let complaint = refused
        .field("ref")
        .as_str()
        .expect("a reference")
        .to_owned();
    for command in ["show", "timeline"] {
        let said = ops(&service, &["submission", command, &complaint])
            .await
            .out;
        assert!(
            said.contains(&format!("{entered}, 12 minutes earlier.")),
            "{command}: {said}"
        );
    }
    let shown = ops(&service, &["submission", "show", &complaint, "--json"])
        .await
        .out;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let holder = &shown["submissions"][0]["code_entered"];
    assert_eq!(json!([holder["id"], holder["ref"]]), json!([id, reference]));
    assert_eq!(
        json!([holder["batch"], holder["phone"]]),
        json!(["first", masked])
    );

    let code = campaign.code(1);
    let slug = campaign.config.slug.as_str();
    let list = [
        "submission",
        "list",
        "--campaign",
        slug,
        "--environment",
        "test",
        "--code",
        &code,
    ];
    let listed = ops(&service, &list).await.out;
    let entered = entered.replace("15 Jun", "15 Jun 2050");
    assert!(listed.contains(&format!("{entered}.")), "{listed}");
}
