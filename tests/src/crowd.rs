//! A crowd of clients with faults all around them, and what has to be true afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use common::domain::scope::Environment;
use futures_util::future::join_all;
use local::partner::{Options as PartnerOptions, SimulatedPartner};
use local::stack::{Options, PARTNER_SECRET, PARTNER_SECRET_HEADER};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::campaign::{TestCampaign, body, fresh_key, phone, plain};
use crate::cuts::{Cuts, How};
use crate::partners::judged_by;
use crate::random::Random;
use crate::receipts::{TIME, id_of, receipts_alone};
use crate::service::Service;

/// How a crowd is made.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What chance follows from.
    pub seed: u64,
    /// Clients at the same time.
    pub clients: u32,
    /// How long they go on.
    pub lasting: Duration,
    /// Submissions of each client, at most.
    pub most: u32,
    /// Calls in a hundred that fail.
    pub faults_percent: u32,
}

/// What a crowd did.
#[derive(Debug)]
pub struct Report {
    /// Submissions that were answered.
    pub answered: usize,
    /// From the first request to the answer, retries included; sorted.
    pub latencies: Vec<Duration>,
    /// Calls to the database, the tax authority and the partner, and how many of them failed.
    pub calls: (usize, usize),
    /// How it ended, by kind and message key.
    pub outcomes: BTreeMap<(Kind, String), usize>,
}

/// What is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Code,
    Receipt,
    Partner,
}

/// A submission that was answered.
struct Done {
    kind: Kind,
    phone: String,
    code: String,
    id: String,
    took: Duration,
}

struct Scene {
    code: TestCampaign,
    receipt: TestCampaign,
    partner: TestCampaign,
    simulated: SimulatedPartner,
    cuts: Cuts,
}

/// Lets a crowd loose, waits until everything is settled, and checks that it adds up.
pub async fn run(plan: Plan) -> Report {
    let scene = Arc::new(Scene::new().await);
    let mut random = Random::new(plan.seed);
    scene.cuts.noise(random.fork(), plan.faults_percent);
    let until = Instant::now() + plan.lasting;
    let clients = (0..plan.clients).map(|_| {
        let (scene, mut random) = (Arc::clone(&scene), random.fork());
        tokio::spawn(async move {
            let mut done = Vec::new();
            while Instant::now() < until && done.len() < usize::try_from(plan.most).expect("small") {
                done.push(scene.submit(&mut random).await);
            }
            done
        })
    });
    let done: Vec<Done> =
        join_all(clients).await.into_iter().flat_map(|client| client.expect("a client ends")).collect();
    let calls = scene.cuts.counts();
    scene.cuts.disarm();
    let outcomes = scene.check(&done).await;
    let mut latencies: Vec<_> = done.iter().map(|done| done.took).collect();
    latencies.sort_unstable();
    Report { answered: done.len(), latencies, calls, outcomes }
}

impl Scene {
    async fn new() -> Self {
        let cuts = Cuts::at(0, How::Refused);
        cuts.disarm();
        let behind = Service::of_its_own(Options { background: false, ..Options::default() });
        let url = |variable| behind.env.required(variable).expect("the stack sets it");
        let service = Service::of_its_own(Options {
            dynamodb_url: Some(cuts.in_front_of(&url("AWS_ENDPOINT_URL_DYNAMODB")).await),
            tax_authority_url: Some(cuts.in_front_of(&url("TAX_AUTHORITY_URL")).await),
            hasten: 600,
            ..Options::default()
        });
        let secret = Some((PARTNER_SECRET_HEADER.to_owned(), PARTNER_SECRET.1.to_owned()));
        let options = PartnerOptions { secret, ..PartnerOptions::default() };
        let simulated = SimulatedPartner::serve(options).await.expect("it serves");
        let partner_url = format!("{}/redeem", cuts.in_front_of(&simulated.base_url).await);
        let campaign = async |change: &dyn Fn(&mut common::domain::campaign::Campaign)| {
            let mut config = plain();
            change(&mut config);
            TestCampaign::on(&service, config).await
        };
        Self {
            code: campaign(&|_| {}).await,
            receipt: campaign(&|config| receipts_alone(config)).await,
            partner: campaign(&|config| judged_by(partner_url.clone())(config)).await,
            simulated,
            cuts,
        }
    }

    fn campaign(&self, kind: Kind) -> &TestCampaign {
        match kind {
            Kind::Code => &self.code,
            Kind::Receipt => &self.receipt,
            Kind::Partner => &self.partner,
        }
    }

    /// One attempt of a consumer: the same request until it is answered. Phones and codes are few, so that
    /// they meet.
    async fn submit(&self, random: &mut Random) -> Done {
        let phone = phone(random.below(200));
        let (kind, code) = match random.below(10) {
            0..5 => (Kind::Code, self.code.code(u64::from(random.below(100)))),
            5..8 => {
                let letters = ["OKAY", "OKAY", "DOWN", "GONE"];
                let letters = letters[usize::try_from(random.below(4)).expect("small")];
                (Kind::Partner, format!("{letters}-{}", random.below(400)))
            }
            _ => (Kind::Receipt, format!("GOOD01{}", random.below(300))),
        };
        let campaign = self.campaign(kind);
        let started = Instant::now();
        let mut request = body(&phone, &code);
        if kind == Kind::Receipt {
            let announced = json!({ "type": "typed", "code": code, "time": TIME });
            let receipt = until_answered(campaign, "/api/v1/receipts", &announced).await;
            request = json!({ "phone": phone, "consent": true, "receipt_id": receipt["id"] });
        }
        let reply = until_answered(campaign, "/api/v1/submissions", &request).await;
        let id = reply["id"].as_str().expect("an id").to_owned();
        Done { kind, phone, code, id, took: started.elapsed() }
    }

    /// Waits until everything is settled, and compares what is recorded with what was answered.
    async fn check(&self, done: &[Done]) -> BTreeMap<(Kind, String), usize> {
        let mut outcomes = BTreeMap::new();
        let mut seen: HashMap<&str, Value> = HashMap::new();
        let mut winners: HashMap<(Kind, &str), BTreeSet<&str>> = HashMap::new();
        let mut per_phone: HashMap<(Kind, &str), BTreeMap<&str, u64>> = HashMap::new();
        for one in done {
            if !seen.contains_key(one.id.as_str()) {
                seen.insert(&one.id, self.settled(one).await);
            }
            let now = &seen[one.id.as_str()];
            let key = now["message_key"].as_str().expect("a key").to_owned();
            *outcomes.entry((one.kind, key)).or_insert(0) += 1;
            if now["state"] == "accepted" {
                winners.entry((one.kind, &one.code)).or_default().insert(&one.id);
                let entries = now["entries"].as_u64().expect("a number");
                per_phone.entry((one.kind, &one.phone)).or_default().insert(&one.id, entries);
            }
        }
        for ((kind, code), ids) in &winners {
            assert_eq!(ids.len(), 1, "{kind:?} {code} is redeemed once");
        }
        for one in done {
            let accepted = per_phone.get(&(one.kind, one.phone.as_str()));
            let scope = self.campaign(one.kind).scope(Environment::Live);
            let phone = one.phone.parse().expect("a phone");
            let entrants = &self.campaign(one.kind).service.tables.entrants;
            let entrant = entrants.get(&scope, &phone, "").await.expect("an entrant");
            let counted = accepted.map_or(0, BTreeMap::len);
            assert_eq!(
                usize::try_from(entrant.total).expect("small"),
                counted,
                "{:?} {}",
                one.kind,
                one.phone
            );
            let entries: u64 = accepted.map_or(0, |accepted| accepted.values().sum());
            assert_eq!(entrant.entries, entries, "{:?} {}", one.kind, one.phone);
        }
        // No redemption without an accepted submission, and never two.
        for (reference, times) in self.simulated.redemptions() {
            assert_eq!(times, 1, "{reference}");
            let now = seen.get(reference.as_str()).unwrap_or_else(|| panic!("{reference} is nobody's"));
            assert_eq!(now["state"], "accepted", "{reference}");
        }
        outcomes
    }

    /// How a submission stands once it is settled.
    async fn settled(&self, one: &Done) -> Value {
        let campaign = self.campaign(one.kind);
        let polling = async {
            loop {
                let reply = campaign.read(&campaign.live_key, &one.id).await;
                assert_eq!(reply.status, 200, "{}", reply.text);
                if reply.field("terminal") == true {
                    assert_eq!(id_of(&reply), one.id);
                    return reply.json();
                }
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(300), polling).await;
        waited.unwrap_or_else(|_| panic!("{:?} {} does not settle", one.kind, one.id))
    }
}

/// Sends the same request until it is answered.
async fn until_answered(campaign: &TestCampaign, path: &str, body: &Value) -> Value {
    let sending = campaign.live("POST", path).header("idempotency-key", fresh_key()).json(body);
    loop {
        let reply = sending.clone().send().await;
        match reply.status.as_u16() {
            200 => return reply.json(),
            409 | 500 => tokio::task::yield_now().await,
            _ => panic!("{}", reply.text),
        }
    }
}
