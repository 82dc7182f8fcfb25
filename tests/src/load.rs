//! Many clients with injected faults, and checks afterwards.

mod checks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::text::text_of;
use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::campaign::WrongCodeLimit;
use common::domain::ids::SubmissionId;
use common::domain::scope::Environment;
use common::domain::submission::Submission;
use common::store::submissions::{self, NEXT_STEP, Submissions};
use futures_util::future::join_all;
use local::partner::SimulatedPartner;
use local::stack::{EndpointProxy, Options};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::campaign::{TestCampaign, body, fresh_key, phone, plain};
use crate::deployment::Deployment;
use crate::interceptor::{Disturbance, Interceptor};
use crate::partners::{judged_by, simulated};
use crate::random::Random;
use crate::receipts::{TIME, receipts_alone};
use crate::service::Service;

#[derive(Clone, Debug)]
pub struct Plan {
    /// Runs an environment of the function named by its argument.
    pub program: PathBuf,
    pub seed: u64,
    pub clients: u32,
    pub lasting: Duration,
    /// Most submissions of a client.
    pub most: u32,
    /// Faults of calls to the database, the tax authority and the partner.
    pub faults: Disturbance,
    /// Share of events that kill the environment.
    pub killed_percent: u32,
}

#[derive(Debug)]
pub struct Report {
    pub answered: usize,
    /// First request to answer, with retries; sorted.
    pub latencies: Vec<Duration>,
    /// Replies by status.
    pub statuses: BTreeMap<u16, usize>,
    /// Calls to database, tax authority and partner, and those that failed or were throttled.
    pub calls: (usize, usize),
    /// Killed, and started.
    pub environments: (usize, usize),
    /// Codes and receipts accepted twice, and references redeemed twice.
    pub redeemed_twice: Vec<String>,
    /// Submissions answered but not stored, and phones with wrong counts.
    pub lost: Vec<String>,
    /// Numbers unlike a count of all records.
    pub miscounted: Vec<String>,
    /// Final outcomes by kind and message key.
    pub outcomes: BTreeMap<(Kind, String), usize>,
}

impl Report {
    pub fn assert_adds_up(&self) {
        assert!(
            self.redeemed_twice.is_empty(),
            "redeemed twice: {:#?}",
            self.redeemed_twice
        );
        assert!(self.lost.is_empty(), "lost: {:#?}", self.lost);
        assert!(
            self.miscounted.is_empty(),
            "miscounted: {:#?}",
            self.miscounted
        );
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Code,
    Receipt,
    /// A second campaign's receipt, from another time zone, at the same tax authority.
    OtherReceipt,
    Partner,
}

impl Kind {
    fn is_receipt(self) -> bool {
        matches!(self, Self::Receipt | Self::OtherReceipt)
    }
}

/// Divides waits: the hour before a receipt's third look-up becomes ten seconds, and the day until
/// an operator takes over four minutes. Turns off the simulated throttle.
const SPEEDUP: u32 = 360;

/// Low enough to throttle phones, and short enough for the waiting to settle.
const THROTTLE: WrongCodeLimit = WrongCodeLimit {
    count: 2,
    minutes: 1,
};

/// Pause between reads of a pending submission, and retries of a request.
const POLL_EVERY: Duration = Duration::from_millis(100);

struct Done {
    kind: Kind,
    phone: String,
    code: String,
    id: String,
    took: Duration,
}

struct Fixture {
    code: TestCampaign,
    receipt: TestCampaign,
    other_receipt: TestCampaign,
    partner: TestCampaign,
    simulated: SimulatedPartner,
    upstreams: Interceptor,
    database: Interceptor,
    deployment: Arc<Deployment>,
    /// Consumers and schedule.
    tasks: JoinSet<()>,
    statuses: Mutex<BTreeMap<u16, usize>>,
    /// Owns the database and the tax authority.
    _behind: Service,
}

/// Runs the clients until everything is settled, and compares records with replies.
pub async fn run(plan: Plan) -> Report {
    let mut random = Random::new(plan.seed);
    let fixture = Arc::new(Fixture::new(&plan.program, random.fork()).await);
    fixture.leave_unreadable_submissions().await;
    fixture.disturb(&mut random, &plan);
    let until = Instant::now() + plan.lasting;
    let clients = (0..plan.clients).map(|_| {
        let (fixture, mut random) = (Arc::clone(&fixture), random.fork());
        tokio::spawn(async move {
            let mut done = Vec::new();
            while Instant::now() < until && done.len() < usize::try_from(plan.most).expect("small")
            {
                done.push(fixture.submit(&mut random).await);
            }
            done
        })
    });
    let done: Vec<Done> = join_all(clients)
        .await
        .into_iter()
        .flat_map(|client| client.expect("a client ends"))
        .collect();
    let seen = [&fixture.upstreams, &fixture.database].map(Interceptor::take_seen);
    let environments = fixture.calm_down().await;
    let mut latencies: Vec<_> = done.iter().map(|done| done.took).collect();
    latencies.sort_unstable();
    let mut report = Report {
        answered: done.len(),
        latencies,
        statuses: std::mem::take(&mut fixture.statuses.lock().expect("not poisoned")),
        calls: (
            seen.iter().map(|seen| seen.calls.len()).sum(),
            seen.iter().map(|seen| seen.disturbed).sum(),
        ),
        environments,
        redeemed_twice: Vec::new(),
        lost: Vec::new(),
        miscounted: Vec::new(),
        outcomes: BTreeMap::new(),
    };
    fixture.check(&done, &mut report).await;
    let fixture = Arc::into_inner(fixture);
    let mut tasks = fixture.expect("the clients have ended").tasks;
    // Environments stop before their runtime interface.
    tasks.shutdown().await;
    report
}

impl Fixture {
    async fn new(program: &Path, random: Random) -> Self {
        let upstreams = Interceptor::default();
        // The IAM guard is before the interceptor.
        let nothing_between = EndpointProxy(Arc::new(|url| Box::pin(async { url })));
        let behind = Service::with_options(Options {
            background: false,
            proxy: Some(nothing_between),
            speedup: SPEEDUP,
            ..Options::default()
        });
        let tax_authority = behind.env.required("TAX_AUTHORITY_URL");
        let tax_authority = tax_authority.expect("the stack sets it");
        let options = Options {
            tax_authority_url: Some(upstreams.in_front_of(&tax_authority).await),
            background: false,
            speedup: SPEEDUP,
            ..Options::default()
        };
        let (service, database) = behind.intercepted_beside(options).await;
        let deployment = Deployment::new(program, &service, database.clone(), random);
        let simulated = simulated(|_| {}).await;
        let partner_url = upstreams.in_front_of(&simulated.base_url).await + "/redeem";
        let campaign = async |change: &dyn Fn(&mut common::domain::campaign::Campaign)| {
            let mut config = plain();
            change(&mut config);
            TestCampaign::on(&service, config).await
        };
        Self {
            code: campaign(&|_| {}).await,
            receipt: campaign(&|config| {
                receipts_alone(config);
                config.wrong_codes = THROTTLE;
            })
            .await,
            other_receipt: campaign(&|config| {
                receipts_alone(config);
                config.wrong_codes = THROTTLE;
                config.timezone = "Pacific/Auckland".parse().expect("a zone");
            })
            .await,
            partner: campaign(&|config| judged_by(partner_url.clone())(config)).await,
            simulated,
            upstreams,
            database,
            tasks: deployment.start(),
            deployment,
            statuses: Mutex::default(),
            _behind: behind,
        }
    }

    fn disturb(&self, random: &mut Random, plan: &Plan) {
        for calls in [&self.upstreams, &self.database] {
            calls.disturb(random.fork(), plan.faults.clone());
        }
        self.deployment.kill(plan.killed_percent);
    }

    /// Stops all faults. Returns environments killed, and started.
    async fn calm_down(&self) -> (usize, usize) {
        self.upstreams.disturb_no_more();
        self.database.disturb_no_more();
        self.deployment.kill(0);
        self.end_lost_steps().await;
        self.deployment.environments()
    }

    /// Makes steps due whose environment died or could not save: `RETRY_SPEEDUP` does not shorten
    /// [`STEP_LEASE`](common::domain::settling::STEP_LEASE). Nothing is in flight, so none is still
    /// running.
    async fn end_lost_steps(&self) {
        let _pause = self.deployment.pause().await;
        for campaign in [&self.receipt, &self.other_receipt, &self.partner] {
            let (service, scope) = (&campaign.service, campaign.scope(Environment::Live));
            let (client, now) = (service.dynamodb(), service.clock.now());
            let table = service
                .env
                .required("SUBMISSIONS_TABLE")
                .expect("the stack sets it");
            let submissions = Submissions::from_env(&service.env, &client).expect("the table");
            let (unsettled, _) = submissions.list_unsettled(&scope).await.expect("the table");
            let is_under_way = |lost: &Submission| {
                let settling = lost.settling.as_ref();
                settling.is_some_and(|settling| settling.is_under_way(now))
            };
            for lost in unsettled.into_iter().filter(is_under_way) {
                let due = scope.key(format_args!("{:016}", now.as_millis()));
                let key = AttributeValue::S(submissions::key(&scope, lost.reference()));
                let millis = AttributeValue::N(now.as_millis().to_string());
                client
                    .update_item()
                    .table_name(&table)
                    .key("id", key)
                    .update_expression("SET settling.next_step_at = :now, #due = :due")
                    .expression_attribute_names("#due", NEXT_STEP)
                    .expression_attribute_values(":now", millis)
                    .expression_attribute_values(":due", AttributeValue::S(due))
                    .send()
                    .await
                    .expect("the table");
            }
        }
    }

    /// Retries until answered. The environment may be killed.
    async fn until_answered(
        &self,
        random: &mut Random,
        campaign: &TestCampaign,
        path: &str,
        body: &Value,
    ) -> Value {
        let attempt = fresh_key();
        loop {
            let sending = self
                .deployment
                .send(random, path, body, &attempt, &campaign.live_key);
            let Some(reply) = sending.await else {
                continue;
            };
            let status = reply.status.as_u16();
            self.count(status);
            match status {
                200 => return reply.json(),
                409 | 500 | 503 => tokio::time::sleep(POLL_EVERY).await,
                _ => panic!("{}", reply.text),
            }
        }
    }

    fn count(&self, status: u16) {
        let mut statuses = self.statuses.lock().expect("not poisoned");
        *statuses.entry(status).or_default() += 1;
    }

    fn campaign(&self, kind: Kind) -> &TestCampaign {
        match kind {
            Kind::Code => &self.code,
            Kind::Receipt => &self.receipt,
            Kind::OtherReceipt => &self.other_receipt,
            Kind::Partner => &self.partner,
        }
    }

    /// Creates a submission, with few phones and codes, so that clients collide.
    async fn submit(&self, random: &mut Random) -> Done {
        let phone = phone(random.below(200));
        let (kind, code) = match random.below(10) {
            0..5 => (Kind::Code, self.code.code(u64::from(random.below(100)))),
            5..8 => {
                let letters = [
                    "OKAY", "OKAY", "DOWN", "GONE", "BADC", "USED", "FLIP", "LIMT", "CONF", "MISS",
                ];
                let letters = letters[usize::try_from(random.below(10)).expect("small")];
                (Kind::Partner, format!("{letters}-{}", random.below(400)))
            }
            choice => {
                let letters = ["SHOP", "GOOD", "GOOD", "LATE", "TIME"];
                let letters = letters[usize::try_from(random.below(5)).expect("small")];
                let kind = if choice == 8 {
                    Kind::Receipt
                } else {
                    Kind::OtherReceipt
                };
                (kind, format!("{letters}01{:04}", random.below(300)))
            }
        };
        let campaign = self.campaign(kind);
        let started = Instant::now();
        let mut request = body(&phone, &code);
        if kind.is_receipt() {
            if random.below(8) == 0 {
                self.block(kind, random.below(200)).await;
            }
            // Wrong times count as guesses, which throttle phones with pending receipts.
            let time = if code.starts_with("TIME") {
                "11:11:11"
            } else {
                TIME
            };
            let announced = json!({ "type": "typed", "code": code, "time": time });
            let receipt = self
                .until_answered(random, campaign, "/api/v1/receipts", &announced)
                .await;
            request = json!({ "phone": phone, "consent": true, "receipt_id": receipt["id"] });
        }
        let reply = self
            .until_answered(random, campaign, "/api/v1/submissions", &request)
            .await;
        let id = text_of(&reply["id"]).to_owned();
        Done {
            kind,
            phone,
            code,
            id,
            took: started.elapsed(),
        }
    }

    /// Blocks a phone with submissions in progress.
    async fn block(&self, kind: Kind, number: u32) {
        let campaign = self.campaign(kind);
        let number = phone(number).parse().expect("a phone");
        let scope = campaign.scope(Environment::Live);
        let blocked = campaign.service.set_blocked(&scope, &number, true);
        // May have an injected fault.
        let _ = blocked.await;
    }

    /// Stores due submissions that this build cannot read.
    async fn leave_unreadable_submissions(&self) {
        for campaign in [&self.receipt, &self.partner] {
            let client = campaign.service.dynamodb();
            let table = campaign
                .service
                .env
                .required("SUBMISSIONS_TABLE")
                .expect("the stack sets it");
            let scope = campaign.scope(Environment::Live);
            let queue = if campaign.config.partner.is_some() {
                "partner"
            } else {
                "tax"
            };
            for shard in 0..4 {
                let id = SubmissionId::from_random([shard; 24]);
                let text = |text: String| AttributeValue::S(text);
                let put = client.put_item().table_name(&table);
                let put = put.item("id", text(submissions::key(&scope, id.reference())));
                let put = put.item("submission_id", text(id.to_string()));
                let put = put.item("unsettled", text(format!("{queue}#{shard}")));
                let put = put.item(NEXT_STEP, text(scope.key("0000000000000001")));
                put.item("standing", text("of a newer build".to_owned()))
                    .send()
                    .await
                    .expect("the table");
            }
        }
    }
}
