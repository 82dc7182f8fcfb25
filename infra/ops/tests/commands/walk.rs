//! An operator's walk through a campaign, from file to winners.

use common::clock::Clock;
use local::stack::Options;
use ops_core::EXIT_OK;
use serde_json::{Value, json};
use service_tests::campaign::{body, fresh_key};
use service_tests::counting::Counter;
use service_tests::http::request;
use service_tests::service::{NOON, Service};
use tempfile::TempDir;

use crate::campaign_files::filled_in;
use crate::support::run;

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
    async fn ops(&self, args: &[&str]) -> Value {
        let ended = run(
            &[args, &["--json"]].concat(),
            self.service.env.clone(),
            &self.service.clock,
        )
        .await;
        assert_eq!(ended.code, EXIT_OK, "{args:?}: {}{}", ended.out, ended.err);
        serde_json::from_str(&ended.out).expect("one JSON document")
    }
}

#[tokio::test]
async fn a_campaign_is_walked_from_its_file_to_its_winners() {
    let options = Options {
        background: false,
        clock: Clock::manual(NOON),
        ..Options::default()
    };
    let walk = Walk {
        service: Service::with_options(options),
        folder: tempfile::tempdir().expect("a folder"),
    };
    let (file, codes) = (walk.path("campaign.yaml"), walk.path("codes.csv"));
    walk.ops(&["campaign", "init", &file]).await;
    let template = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, filled_in(&template)).expect("a disk");
    let applied = walk.ops(&["campaign", "apply", "--yes", &file]).await;
    let slug = applied["campaigns"][0]["slug"].as_str().expect("a slug");
    let scope = ["--campaign", slug, "--environment", "live"];
    walk.ops(
        &[
            &["code", "mint", "--count", "3", "--output", &codes],
            &scope[..],
        ]
        .concat(),
    )
    .await;
    let issued = walk.ops(&[&["key", "issue"], &scope[..]].concat()).await;

    let url = format!("{}/api/v1/submissions", walk.service.base_url);
    let authorization = format!("Bearer {}", issued["key"].as_str().expect("a key"));
    let codes = std::fs::read_to_string(codes).expect("a file");
    let mut references = Vec::new();
    for (number, code) in codes.lines().skip(1).enumerate() {
        let entry = body(&format!("071200000{number}"), code);
        let sending = request("POST", url.clone()).header("authorization", &authorization);
        let reply = sending
            .header("idempotency-key", fresh_key())
            .json(&entry)
            .send()
            .await;
        assert_eq!(reply.field("state"), "accepted", "{}", reply.text);
        references.push(reply.field("ref"));
    }
    Counter::new(&walk.service.env, &walk.service.clock)
        .count_all()
        .await;
    let numbers = walk.ops(&["numbers", "--campaign", slug]).await;
    assert_eq!(
        (&numbers["days"][0]["submissions"], &numbers["phones"]),
        (&json!(3), &json!(3))
    );

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
        ["--campaign", slug, "--draw", "final"],
    );
    let period = [
        "--from", day, "--to", day, "--prize", "Kettle=1", "--at", &at, "--output", &evidence,
    ];
    let frozen = walk
        .ops(&[&["draw", "freeze", "--yes"], &draw[..], &period].concat())
        .await;
    assert_eq!(frozen["header"]["rows"], 3);
    walk.ops(&[&["draw", "run"], &draw[..]].concat()).await;

    let export = ["export", "submissions", "--output", &walk.path("all.csv")];
    assert_eq!(walk.ops(&[&export[..], &scope].concat()).await["rows"], 3);
    let shown = walk.ops(&[&["draw", "show"], &draw[..]].concat()).await;
    assert!(references.contains(&shown["winners"][0]["ref"]), "{shown}");
}
