//! The complaint "my code says used": `ops submission show`, `timeline` and `list --code`.

use std::time::Duration;

use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::service::Service;
use service_tests::text::text_of;

use crate::support::ops;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn complaint_is_answered_in_one_sentence() {
    let service = Service::still();
    let campaign = TestCampaign::on(&service, plain()).await;
    let holder = campaign.submit(&phone(1), &campaign.code(1)).await;
    service.clock.advance(Duration::from_secs(12 * 60 + 5));
    let refused = campaign.submit(&phone(2), &campaign.code(1)).await;
    assert_eq!(refused.field("message_key"), "already_used");
    let [id, reference] = ["id", "ref"].map(|name| text_of(&holder.field(name)).to_owned());
    assert_lacks!(refused.text, id, reference, "first", "holder", "refusal");

    let masked = "+2557\u{2022}\u{2022}\u{2022}\u{2022}\u{2022}001";
    let entered = format!("This code was entered on 15 Jun 15:00 by {masked} ({reference})");
    let complaint = refused.field("ref");
    let complaint = text_of(&complaint);
    for command in ["show", "timeline"] {
        let said = ops(&service, format!("submission {command} {complaint}"));
        assert_contains!(said.await.out, format!("{entered}, 12 minutes earlier."));
    }
    let shown = format!("submission show {complaint} --json");
    let shown = ops(&service, shown).await.json();
    let holder = &shown["submissions"][0]["code_entered"];
    assert_eq!(holder["id"], json!(id));
    assert_eq!(holder["ref"], json!(reference));
    assert_eq!(holder["batch"], "first");
    assert_eq!(holder["phone"], json!(masked));

    let code = campaign.code(1);
    let slug = campaign.config.slug.as_str();
    let list = format!("submission list --campaign {slug} --environment test --code {code}");
    let listed = ops(&service, &list).await.out;
    let entered = entered.replace("15 Jun", "15 Jun 2050");
    assert_contains!(listed, format!("{entered}."));
}
