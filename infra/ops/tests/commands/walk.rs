//! An operator's walk through a campaign, from file to winners.

use serde_json::Value;
use service_tests::campaign::{body, fresh_key};
use service_tests::counting::Counter;
use service_tests::http::request;
use service_tests::service::Service;
use service_tests::text::text_of;
use tempfile::TempDir;

use crate::campaign_files::filled_in;
use crate::support::ops;

/// Counts when told, with a folder.
struct Walk {
    service: Service,
    folder: TempDir,
}

impl Walk {
    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Runs a command that must succeed; returns its JSON.
    async fn ops(&self, command: String) -> Value {
        ops(&self.service, command + " --json").await.json()
    }
}

#[tokio::test]
async fn a_campaign_is_walked_from_its_file_to_its_winners() {
    let walk = Walk {
        service: Service::still(),
        folder: tempfile::tempdir().expect("a folder"),
    };
    let (file, codes) = (walk.path("campaign.yaml"), walk.path("codes.csv"));
    walk.ops(format!("campaign init {file}")).await;
    let template = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, filled_in(&template)).expect("a disk");
    let applied = walk.ops(format!("campaign apply --yes {file}")).await;
    let slug = text_of(&applied["campaigns"][0]["slug"]);
    let scope = format!("--campaign {slug} --environment live");
    walk.ops(format!("code mint --count 3 --output {codes} {scope}"))
        .await;
    let issued = walk.ops(format!("key issue {scope}")).await;

    let url = format!("{}/api/v1/submissions", walk.service.base_url);
    let authorization = format!("Bearer {}", text_of(&issued["key"]));
    let codes = std::fs::read_to_string(codes).expect("a file");
    let mut references = Vec::new();
    for (number, code) in codes.lines().skip(1).enumerate() {
        let entry = body(&format!("071200000{number}"), code);
        let sending = request("POST", url.clone()).header("authorization", &authorization);
        let reply = sending
            .header("idempotency-key", fresh_key())
            .json(&entry)
            .await;
        assert_eq!(reply.field("state"), "accepted", "{}", reply.text);
        references.push(reply.field("ref"));
    }
    Counter::new(&walk.service.env, &walk.service.clock)
        .count_all()
        .await;
    let numbers = walk.ops(format!("numbers --campaign {slug}")).await;
    assert_eq!(numbers["days"][0]["submissions"], 3);
    assert_eq!(numbers["phones"], 3);

    walk.service
        .clock
        .advance(std::time::Duration::from_hours(24));
    let at = walk
        .service
        .clock
        .now()
        .after(std::time::Duration::from_mins(15))
        .to_string();
    let (day, evidence, draw) = (
        "2050-06-15",
        walk.path("evidence"),
        format!("--campaign {slug} --draw final"),
    );
    let period = format!("--from {day} --to {day} --prize Kettle=1 --at {at} --output {evidence}");
    let frozen = walk.ops(format!("draw freeze --yes {draw} {period}")).await;
    assert_eq!(frozen["header"]["rows"], 3);
    walk.ops(format!("draw run {draw}")).await;

    let export = format!("export submissions --output {}", walk.path("all.csv"));
    assert_eq!(walk.ops(format!("{export} {scope}")).await["rows"], 3);
    let shown = walk.ops(format!("draw show {draw}")).await;
    assert!(references.contains(&shown["winners"][0]["ref"]), "{shown}");
}
