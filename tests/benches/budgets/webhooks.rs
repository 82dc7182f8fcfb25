//! Webhooks on a stack that runs by itself: time from a change to its first try, what is lost or
//! comes twice, other endpoints beside a dead and a slow one, and write units of an event.

use std::collections::BTreeSet;
use std::time::Duration;

use common::clock::Clock;
use common::domain::scope::Environment;
use common::domain::timestamp::Timestamp;
use common::domain::webhook::EventType;
use local::stack::Options;
use service_tests::campaign::{TestCampaign, body, fresh_key, phone, plain};
use service_tests::interceptor::Interceptor;
use service_tests::service::Service;
use service_tests::webhooks::{Answer, Receiver, Webhooks, deliver};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::report::{Table, Verdicts};

/// Aims for the time from a change to the first try.
const AIM: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5)];
/// Between two measurements of the same.
const NOISE: Duration = Duration::from_secs(1);
/// Time between two entries.
const INTERVAL: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(60);
/// Endpoints that work.
const HEALTHY: usize = 4;

pub(crate) async fn run(events: usize, verdicts: &mut Verdicts) {
    println!("## Webhooks\n");
    println!("{events} entries for each of {HEALTHY} endpoints that work, and one more.\n");
    let mut table = Table::new([
        "beside an endpoint that",
        "first try p50 ms",
        "p99 ms",
        "lost",
        "twice",
        "kept",
    ]);
    let late = |seconds| Some(Answer::Late(Duration::from_secs(seconds)));
    let mut alone = None;
    for (name, beside) in [
        ("works", Some(Answer::Status(200))),
        ("answers 500", Some(Answer::Status(500))),
        ("takes nine seconds", late(9)),
        ("never answers", late(3_600)),
        ("takes no connection", None),
    ] {
        let Measured {
            delays,
            lost,
            twice,
        } = measure(events, beside).await;
        let [p50, p99] = [50, 99].map(|percent| percentile(&delays, percent));
        let unmoved = *alone.get_or_insert(p99) + NOISE;
        let is_kept = lost == 0 && p50 <= AIM[0] && p99 <= AIM[1].min(unmoved);
        let kept = verdicts.check(is_kept, || {
            format!("webhooks beside one that {name}: p50 {p50:?}, p99 {p99:?}, {lost} lost")
        });
        table.row(&[
            &name,
            &p50.as_millis(),
            &p99.as_millis(),
            &lost,
            &twice,
            &kept,
        ]);
    }
    table.print();
    write_units(verdicts).await;
}

struct Measured {
    /// Sorted.
    delays: Vec<Duration>,
    lost: usize,
    twice: usize,
}

/// A listener that takes no connection, because its backlog is full.
struct FullListener {
    url: String,
    _listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl FullListener {
    async fn bind() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        let any = "127.0.0.1:0".parse().expect("an address");
        socket.bind(any).expect("a port");
        let listener = socket.listen(1).expect("it listens");
        let address = listener.local_addr().expect("an address");
        let mut waiting = Vec::new();
        let patience = Duration::from_millis(500);
        while let Ok(taken) = timeout(patience, TcpStream::connect(address)).await {
            waiting.push(taken.expect("a connection"));
        }
        Self {
            url: format!("http://{address}/"),
            _listener: listener,
            _waiting: waiting,
        }
    }
}

/// `None` for a host that takes no connection.
async fn measure(events: usize, beside: Option<Answer>) -> Measured {
    let service = Service::with_options(Options::default());
    let mut config = plain();
    config.webhooks = 1;
    let campaign = TestCampaign::on(&service, config).await;
    let webhooks = Webhooks::new(&service);
    let scope = campaign.scope(Environment::Test);
    let types = [EventType::SubmissionCreated];
    let mut receivers = Vec::new();
    for _ in 0..HEALTHY {
        let receiver = Receiver::serve(Answer::Status(200)).await;
        webhooks.add(&scope, &receiver.url, &types).await;
        receivers.push(receiver);
    }
    let full = FullListener::bind().await;
    let other = match beside {
        Some(answer) => Receiver::serve(answer).await.url,
        None => full.url.clone(),
    };
    webhooks.add(&scope, &other, &types).await;

    let numbers = 1..=u32::try_from(events).expect("a few thousand");
    let entries = numbers.map(|number| {
        let sending = campaign.test("POST", "/api/v1/submissions");
        let entry = body(&phone(number), "TEST0VALID");
        let sending = sending.header("idempotency-key", fresh_key());
        sending.json(&entry)
    });
    let mut ticks = tokio::time::interval(INTERVAL);
    for entry in entries {
        ticks.tick().await;
        let reply = entry.await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    let all_arrived = async {
        while receivers.iter().any(|one| one.received().len() < events) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let _ = timeout(PATIENCE, all_arrived).await;
    let mut measured = Measured {
        delays: Vec::new(),
        lost: 0,
        twice: 0,
    };
    for receiver in &receivers {
        let mut seen = BTreeSet::new();
        for event in receiver.received() {
            if seen.insert(event.id().to_owned()) {
                let changed = event.json()["timestamp"]
                    .as_str()
                    .and_then(|at| at.parse().ok());
                let changed: Timestamp = changed.expect("a time");
                measured.delays.push(event.at.since(changed));
            } else {
                measured.twice += 1;
            }
        }
        measured.lost += events - seen.len();
    }
    measured.delays.sort();
    measured
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

/// Write units of deliveries at the first try, and of each later one.
async fn write_units(verdicts: &mut Verdicts) {
    println!("Write units of a delivery, its reads aside.\n");
    let service = Service::with_options(Options {
        background: false,
        clock: Clock::manual(Clock::system().now()),
        ..Options::default()
    });
    let mut config = plain();
    config.webhooks = 1;
    let campaign = TestCampaign::on(&service, config).await;
    let mut webhooks = Webhooks::new(&service);
    let receiver = Receiver::serve(Answer::Status(200)).await;
    let scope = campaign.scope(Environment::Test);
    let types = [EventType::SubmissionCreated];
    webhooks.add(&scope, &receiver.url, &types).await;
    let proxy = Interceptor::default();
    let counted = service.behind(&proxy, &["AWS_ENDPOINT_URL_DYNAMODB"]).await;
    let function = counted.function("deliver-events");
    let mut table = Table::new(["delivery", "write units", "kept"]);
    let mut units = async |name: &str, budget: f64, answer: u16, webhooks: &mut Webhooks| {
        receiver.answer(Answer::Status(answer));
        webhooks.publish_all().await;
        let messages = webhooks.take_messages().await;
        assert!(!messages.is_empty(), "{name}");
        proxy.take_seen();
        deliver(&function, &messages).await;
        let units = proxy.take_seen().write_units;
        let kept = verdicts.check(units <= budget, || format!("{name}: {units} write units"));
        table.row(&[&name, &format_args!("{units:.1}"), &kept]);
    };
    let enter = async |number: u32| {
        let reply = campaign.submit(&phone(number), "TEST0VALID").await;
        assert_eq!(reply.status, 200, "{}", reply.text);
    };
    enter(1).await;
    units("at the first try", 0.0, 200, &mut webhooks).await;
    enter(2).await;
    units(
        "first failure, which turns the endpoint bad",
        5.0,
        500,
        &mut webhooks,
    )
    .await;
    webhooks.advance(Duration::from_secs(10));
    units("second failure", 7.0, 500, &mut webhooks).await;
    webhooks.advance(Duration::from_mins(7));
    webhooks.sweep().await;
    units(
        "third try, which arrives and turns it good",
        7.0,
        200,
        &mut webhooks,
    )
    .await;
    table.print();
}
