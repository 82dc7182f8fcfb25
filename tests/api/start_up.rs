//! A function's work before its first event.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::config::Env;
use local::stack::{Options, Stack};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

const ENDPOINT: &str = "AWS_ENDPOINT_URL_DYNAMODB";

/// Scheduler turns in which the connection's task sees its response. A function has as many while
/// it polls for its first event.
const TURNS: usize = 100;

#[tokio::test]
async fn first_two_calls_find_connections_that_are_open() {
    let stack = Stack::start(Options::default())
        .await
        .expect("the stack starts");
    let env: Env = stack.env().clone().into_iter().collect();
    let (relay, connections) = relay(&env.required(ENDPOINT).expect("the stack sets it")).await;
    let aws = connected_to(relay);

    aws.open_dynamodb().await;
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }

    let table = env.required("API_KEYS_TABLE").expect("the stack sets it");
    let read = || {
        let unknown = AttributeValue::S("no key's".to_owned());
        let get = aws.dynamodb().get_item().table_name(&table);
        get.key("key_hash", unknown).send()
    };
    let (first, second) = tokio::join!(read(), read());
    for read in [first, second] {
        assert!(read.expect("the table answers").item.is_none());
    }
    assert_eq!(
        connections.load(Ordering::SeqCst),
        2,
        "no call opened another"
    );
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn silent_database_is_waited_for_a_second_and_a_half() {
    // Accepts connections in the kernel's backlog and never answers.
    let (_listener, url) = listen().await;
    let began = Instant::now();

    connected_to(url).open_dynamodb().await;

    assert_eq!(began.elapsed().as_millis(), 1_500);
}

#[tokio::test(start_paused = true)]
async fn database_that_is_not_there_is_not_waited_for() {
    let (listener, url) = listen().await;
    drop(listener);
    let began = Instant::now();

    connected_to(url).open_dynamodb().await;

    assert_eq!(began.elapsed().as_millis(), 0);
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    (listener, url)
}

fn connected_to(database: String) -> Aws {
    let env = [
        ("AWS_ACCESS_KEY_ID", "a-key".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "a-secret".to_owned()),
        ("AWS_REGION", "af-south-1".to_owned()),
        (ENDPOINT, database),
    ];
    Aws::for_function(
        &env.map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
    )
    .expect("every variable is set")
}

/// Forwards bytes to a server: URL, and connections accepted.
async fn relay(server: &str) -> (String, Arc<AtomicUsize>) {
    let (listener, url) = listen().await;
    let server = server
        .strip_prefix("http://")
        .expect("a server of this machine")
        .to_owned();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&accepted);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            let server = server.clone();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(server).await.expect("the server");
                // One side closed the connection.
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (url, accepted)
}
