//! A crowd of clients with faults all around them, and what has to be true afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::campaign::WrongCodeLimit;
use common::domain::scope::Environment;
use common::store::submissions::{NEXT_STEP, Submissions};
use futures_util::future::join_all;
use local::partner::{Options as PartnerOptions, SimulatedPartner};
use local::stack::{Options, PARTNER_SECRET, PARTNER_SECRET_HEADER};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::campaign::{TestCampaign, body, fresh_key, phone, plain};
use crate::fault_injection::{FaultInjector, FaultKind};
use crate::partners::judged_by;
use crate::random::Random;
use crate::receipts::{TIME, receipts_alone};
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
    /// A receipt of another campaign, in another time zone, which shares the tax authority with the first.
    OtherReceipt,
    Partner,
}

impl Kind {
    fn is_receipt(self) -> bool {
        matches!(self, Self::Receipt | Self::OtherReceipt)
    }
}

/// What every planned wait is divided by: a day of silence, after which a person is told, is twelve minutes. A
/// hasty stack's tax authority turns nobody away either.
const HASTEN: u32 = 120;

/// So few wrong times throttle a phone, and for so short a time that what waits for it settles.
const THROTTLE: WrongCodeLimit = WrongCodeLimit { count: 2, minutes: 1 };

/// Nothing takes longer to settle, however many others wait.
const SETTLING_TIMEOUT: Duration = Duration::from_secs(300);

/// Between two looks at a submission that is not settled yet.
const POLL_EVERY: Duration = Duration::from_millis(100);

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
    other_receipt: TestCampaign,
    partner: TestCampaign,
    simulated: SimulatedPartner,
    fault_injection: FaultInjector,
    /// Whose database and tax authority are asked.
    _behind: Service,
}

/// Lets a crowd loose, waits until everything is settled, and checks that it adds up.
pub async fn run(plan: Plan) -> Report {
    let scene = Arc::new(Scene::new().await);
    scene.leave_unreadable_submissions().await;
    let mut random = Random::new(plan.seed);
    scene.fault_injection.noise(random.fork(), plan.faults_percent);
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
    let calls = scene.fault_injection.counts();
    scene.fault_injection.disarm();
    let outcomes = scene.check(&done).await;
    let mut latencies: Vec<_> = done.iter().map(|done| done.took).collect();
    latencies.sort_unstable();
    Report { answered: done.len(), latencies, calls, outcomes }
}

impl Scene {
    async fn new() -> Self {
        let fault_injection = FaultInjector::at(0, FaultKind::Refused);
        fault_injection.disarm();
        let behind = Service::of_its_own(Options { background: false, hasten: HASTEN, ..Options::default() });
        let url = |variable| behind.env.required(variable).expect("the stack sets it");
        let service = Service::of_its_own(Options {
            dynamodb_url: Some(fault_injection.in_front_of(&url("AWS_ENDPOINT_URL_DYNAMODB")).await),
            tax_authority_url: Some(fault_injection.in_front_of(&url("TAX_AUTHORITY_URL")).await),
            hasten: HASTEN,
            ..Options::default()
        });
        let secret = Some((PARTNER_SECRET_HEADER.to_owned(), PARTNER_SECRET.1.to_owned()));
        let options = PartnerOptions { secret, ..PartnerOptions::default() };
        let simulated = SimulatedPartner::serve(options).await.expect("it serves");
        let partner_url = format!("{}/redeem", fault_injection.in_front_of(&simulated.base_url).await);
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
            fault_injection,
            _behind: behind,
        }
    }

    fn campaign(&self, kind: Kind) -> &TestCampaign {
        match kind {
            Kind::Code => &self.code,
            Kind::Receipt => &self.receipt,
            Kind::OtherReceipt => &self.other_receipt,
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
                let letters =
                    ["OKAY", "OKAY", "DOWN", "GONE", "BADC", "USED", "FLIP", "LIMT", "CONF", "MISS"];
                let letters = letters[usize::try_from(random.below(10)).expect("small")];
                (Kind::Partner, format!("{letters}-{}", random.below(400)))
            }
            choice => {
                let letters = ["SHOP", "GOOD", "GOOD", "LATE", "TIME"];
                let letters = letters[usize::try_from(random.below(5)).expect("small")];
                let kind = if choice == 8 { Kind::Receipt } else { Kind::OtherReceipt };
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
            // A wrong time is a guess, and enough of them throttle a phone that has receipts pending.
            let time = if code.starts_with("TIME") { "11:11:11" } else { TIME };
            let announced = json!({ "type": "typed", "code": code, "time": time });
            let receipt = until_answered(campaign, "/api/v1/receipts", &announced).await;
            request = json!({ "phone": phone, "consent": true, "receipt_id": receipt["id"] });
        }
        let reply = until_answered(campaign, "/api/v1/submissions", &request).await;
        let id = reply["id"].as_str().expect("an id").to_owned();
        Done { kind, phone, code, id, took: started.elapsed() }
    }

    /// Puts a phone on a campaign's blocklist, in the middle of whatever it is doing.
    async fn block(&self, kind: Kind, number: u32) {
        let campaign = self.campaign(kind);
        let number = phone(number).parse().expect("a phone");
        let (scope, now) = (campaign.scope(Environment::Live), campaign.service.clock.now());
        let blocked = campaign.service.tables.entrants.set_blocked(&scope, &number, true, now);
        // The call may be one of those that fail.
        let _ = blocked.await;
    }

    /// Leaves submissions behind that are due and that this build cannot read, as a newer one may.
    async fn leave_unreadable_submissions(&self) {
        for campaign in [&self.receipt, &self.partner] {
            let client = campaign.service.dynamodb();
            let table = campaign.service.env.required("SUBMISSIONS_TABLE").expect("the stack sets it");
            let scope = campaign.scope(Environment::Live);
            let queue = if campaign.config.partner.is_some() { "partner" } else { "tax" };
            for shard in 0..4 {
                let id = format!("0000000{shard}-0000-4000-8000-000000000000");
                let text = |text: String| AttributeValue::S(text);
                let put = client.put_item().table_name(&table).item("id", text(scope.key(&id)));
                let put = put.item("unsettled", text(format!("{queue}#{shard}")));
                let put = put.item(NEXT_STEP, text(scope.key("0000000000000001")));
                put.item("standing", text("of a newer build".to_owned())).send().await.expect("the table");
            }
        }
    }

    /// Waits until everything is settled, and compares what is recorded with what was answered.
    async fn check(&self, done: &[Done]) -> BTreeMap<(Kind, String), usize> {
        let mut outcomes = BTreeMap::new();
        let mut seen: HashMap<&str, Value> = HashMap::new();
        let mut by_phone: HashMap<(Kind, &str), BTreeMap<&str, u64>> = HashMap::new();
        let mut wrong: HashMap<(Kind, &str), BTreeSet<&str>> = HashMap::new();
        let mut winners: HashMap<(Kind, &str), BTreeSet<&str>> = HashMap::new();
        for one in done {
            if !seen.contains_key(one.id.as_str()) {
                seen.insert(&one.id, self.settled(one).await);
            }
            let now = &seen[one.id.as_str()];
            let key = now["message_key"].as_str().expect("a key").to_owned();
            *outcomes.entry((one.kind, key)).or_insert(0) += 1;
            let counted = by_phone.entry((one.kind, &one.phone)).or_default();
            if now["state"] != "rejected" {
                counted.insert(&one.id, now["entries"].as_u64().expect("a number"));
            }
            if now["message_key"] == "invalid" {
                wrong.entry((one.kind, &one.phone)).or_default().insert(&one.id);
            }
            if now["state"] == "accepted" {
                winners.entry((one.kind, &one.code)).or_default().insert(&one.id);
            }
        }
        for ((kind, code), ids) in &winners {
            assert_eq!(ids.len(), 1, "{kind:?} {code} is redeemed once");
        }
        for ((kind, phone), counted) in &by_phone {
            let campaign = self.campaign(*kind);
            let (scope, number) = (campaign.scope(Environment::Live), phone.parse().expect("a phone"));
            let entrant = campaign.service.tables.entrants.get(&scope, &number, "").await;
            let entrant = entrant.expect("an entrant");
            let expected = (counted.len(), counted.values().sum::<u64>());
            let total = usize::try_from(entrant.total).expect("small");
            assert_eq!((total, entrant.entries), expected, "{kind:?} {phone}");
            assert_eq!(entrant.open_receipts, 0, "{kind:?} {phone}: everything is settled");
            if !kind.is_receipt() {
                let wrong = wrong.get(&(*kind, *phone)).map_or(0, BTreeSet::len);
                assert_eq!(entrant.wrong_codes.len(), wrong, "{kind:?} {phone}");
            }
        }
        self.check_codes(&seen).await;
        self.check_redemptions(&seen);
        outcomes
    }

    /// Every code that somebody has is of a submission that counts, and redeemed by those that are in.
    async fn check_codes(&self, seen: &HashMap<&str, Value>) {
        for campaign in [&self.code, &self.partner] {
            let scope = campaign.scope(Environment::Live);
            let claims = campaign.service.claims(&scope).await;
            assert!(!claims.is_empty());
            for claim in &claims {
                let id = claim.submission_id.to_string();
                let now = seen.get(id.as_str()).unwrap_or_else(|| panic!("{id} has a code and is nobody's"));
                assert_ne!(now["state"], "rejected", "{id} has a code");
                assert_eq!(claim.redeemed, now["state"] == "accepted", "{id}");
            }
        }
    }

    /// No redemption at the partner without a submission that counts, and never two.
    fn check_redemptions(&self, seen: &HashMap<&str, Value>) {
        for (reference, times) in self.simulated.redemptions() {
            assert_eq!(times, 1, "{reference}");
            let now = seen.get(reference.as_str()).unwrap_or_else(|| panic!("{reference} is nobody's"));
            assert!(now["state"] == "accepted" || is_left_to_a_person(now), "{reference}");
        }
    }

    /// How a submission stands once nothing more happens without a person.
    async fn settled(&self, one: &Done) -> Value {
        let campaign = self.campaign(one.kind);
        let deadline = Instant::now() + SETTLING_TIMEOUT;
        loop {
            let reply = campaign.read(&campaign.live_key, &one.id).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            let now = reply.json();
            if now["terminal"] == true || is_left_to_a_person(&now) {
                return now;
            }
            if Instant::now() > deadline {
                let submissions = Submissions::from_env(&campaign.service.env, &campaign.service.dynamodb());
                let id = one.id.parse().expect("an id");
                let kept = submissions.expect("the table").get(&campaign.scope(Environment::Live), id).await;
                panic!("{:?} {} does not settle: {:?}", one.kind, one.id, kept.expect("it answers"));
            }
            // Those who settle need the processor more than those who ask.
            tokio::time::sleep(POLL_EVERY).await;
        }
    }
}

/// The partner answered twice differently: only a person can find out what is true.
fn is_left_to_a_person(submission: &Value) -> bool {
    submission["reasons"] == json!(["partner_used_when_asked_again"])
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
