//! Attacks on the console's port; each fails.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use console::{Ended, IDLE_LIMIT, Server};
use ops_core::ConsoleSettings;

use super::Served;
use crate::support::Stack;

async fn served() -> (Stack, Served) {
    let stack = Stack::with_chai().await;
    let console = Served::start(&stack).await;
    (stack, console)
}

const PAUSE: &str = "/campaigns/chai-bora-2026/live/pause";

async fn is_paused(stack: &Stack) -> bool {
    stack.json("campaign show chai-bora-2026").await["paused"] == true
}

#[tokio::test]
async fn only_this_machine_reaches_it() {
    let (stack, console) = served().await;
    let (address, port) = console.authority.split_once(':').expect("a port");
    assert_eq!(address, "127.0.0.1");
    // The port is free on other addresses: the console is bound to one.
    let port: u16 = port.parse().expect("a number");
    assert!(TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port)).is_ok());
    drop(stack);
}

#[tokio::test]
async fn a_taken_port_is_refused_with_what_to_do() {
    let (stack, console) = served().await;
    let port = console
        .authority
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let order = ConsoleSettings {
        env: stack.env.clone(),
        clock: stack.clock.clone(),
        port,
        opens_browser: false,
    };
    let refused = Server::bind(&order).await.err().expect("it is taken");
    assert_eq!(refused.code, "port_taken");
    assert_contains!(refused.message, "leave --port out");
}

#[tokio::test]
async fn another_host_is_refused_on_every_path() {
    let (_stack, console) = served().await;
    let operator = console.sign_in().await;
    let port = console.authority.rsplit(':').next().expect("a port");
    let names = [
        format!("localhost:{port}"),
        format!("rebound.example:{port}"),
        "127.0.0.1".to_owned(),
        String::new(),
    ];
    for host in names {
        for path in ["/", "/open", "/style.css"] {
            let reply = operator.ask("GET", path).header("host", &host).send().await;
            assert_eq!(reply.status, 403, "{host} {path}");
            assert_lacks!(reply.text, "chai-bora");
        }
    }
}

#[tokio::test]
async fn a_write_of_another_page_is_refused() {
    let (stack, console) = served().await;
    let operator = console.sign_in().await;
    let ask = || {
        console
            .ask("POST", PAUSE)
            .header("cookie", &operator.cookie)
    };
    let own = format!("http://{}", console.authority);
    for site in ["cross-site", "same-site", "nonsense"] {
        let reply = ask()
            .header("sec-fetch-site", site)
            .header("origin", &own)
            .send()
            .await;
        assert_eq!(reply.status, 403, "{site}");
    }
    for origin in [
        "https://evil.example",
        "http://127.0.0.1:1",
        "null",
        "",
        &format!("https://{}", console.authority),
    ] {
        assert_eq!(
            ask().header("origin", origin).send().await.status,
            403,
            "{origin}"
        );
    }
    assert_eq!(ask().send().await.status, 403, "neither header");
    let twice = ask()
        .header("sec-fetch-site", "same-origin")
        .header("sec-fetch-site", "cross-site");
    assert_eq!(twice.send().await.status, 403);
    assert!(!is_paused(&stack).await);

    // A browser with the older header only.
    let own = ask().header("origin", &own);
    assert_eq!(own.raw("why=misprint".to_owned()).await.status, 303);
    assert!(is_paused(&stack).await);
}

#[tokio::test]
async fn a_page_that_is_the_same_site_by_its_address_reads_nothing() {
    let (_stack, console) = served().await;
    let operator = console.sign_in().await;
    let ask = || console.ask("GET", "/").header("cookie", &operator.cookie);
    assert_eq!(
        ask()
            .header("sec-fetch-site", "same-site")
            .send()
            .await
            .status,
        401
    );
    assert_eq!(
        ask()
            .header("sec-fetch-site", "cross-site")
            .send()
            .await
            .status,
        401
    );
    assert_eq!(
        ask().header("sec-fetch-site", "none").send().await.status,
        200,
        "a typed address"
    );
}

#[tokio::test]
async fn without_the_cookie_there_is_nothing_to_see() {
    let (stack, console) = served().await;
    let guessed = format!(
        "ops_console_{}={}",
        console.authority.rsplit(':').next().expect("a port"),
        "0".repeat(64)
    );
    for cookie in ["", "ops_console=1", &guessed] {
        for path in [
            "/",
            "/campaigns/chai-bora-2026/live",
            "/search",
            "/no-such-page",
        ] {
            let reply = console
                .ask_from_page("GET", path)
                .header("cookie", cookie)
                .send()
                .await;
            assert_eq!(reply.status, 401, "{path}");
            assert_lacks!(reply.text, "chai-bora");
        }
        let reply = console
            .ask_from_page("POST", PAUSE)
            .header("cookie", cookie)
            .send()
            .await;
        assert_eq!(reply.status, 401);
    }
    assert!(!is_paused(&stack).await);
}

#[tokio::test]
async fn the_cookie_of_an_earlier_console_is_old() {
    let (stack, console) = served().await;
    let old = console.sign_in().await.cookie;
    let value = old.split('=').nth(1).expect("a value").to_owned();
    assert_eq!(console.stop().await, Ended::Stopped);
    let next = Served::start(&stack).await;
    let port = next.authority.rsplit(':').next().expect("a port");
    for cookie in [old, format!("ops_console_{port}={value}")] {
        let reply = next
            .ask_from_page("GET", "/")
            .header("cookie", cookie)
            .send()
            .await;
        assert_eq!(reply.status, 401);
    }
}

#[tokio::test]
async fn every_reply_forbids_frames_foreign_content_and_copies() {
    let (_stack, console) = served().await;
    let operator = console.sign_in().await;
    for path in [
        "/",
        "/open",
        "/open.js",
        "/style.css",
        "/icon.svg",
        "/no-such-page",
    ] {
        for reply in [
            operator.ask("GET", path).send().await,
            console.ask("GET", path).send().await,
        ] {
            let header = |name: &str| {
                reply
                    .headers
                    .get(name)
                    .map_or("", |value| value.to_str().expect("text"))
            };
            let policy = header("content-security-policy");
            for part in [
                "default-src 'none'",
                "frame-ancestors 'none'",
                "form-action 'self'",
                "script-src 'self'",
                "base-uri 'none'",
            ] {
                assert_contains!(policy, part);
            }
            assert_lacks!(policy, "unsafe", "http");
            assert_eq!(header("x-frame-options"), "DENY");
            assert_eq!(header("cache-control"), "no-store");
            assert_eq!(header("referrer-policy"), "no-referrer");
            assert_eq!(header("x-content-type-options"), "nosniff");
            assert_eq!(header("cross-origin-resource-policy"), "same-origin");
            assert_eq!(header("cross-origin-opener-policy"), "same-origin");
            assert_eq!(header("access-control-allow-origin"), "");
        }
    }
}

#[tokio::test]
async fn it_ends_after_fifteen_minutes_without_use() {
    let (_stack, console) = served().await;
    let operator = console.sign_in().await;
    let a_moment = Duration::from_secs(1);
    console.clock.advance(IDLE_LIMIT - a_moment);
    operator.page("/").await;
    console.clock.advance(IDLE_LIMIT - a_moment);
    // A caller without cookie.
    console.ask("GET", "/").send().await;
    console.ask("GET", "/style.css").send().await;
    operator.page("/").await;
    let operator = operator.cookie;
    console.clock.advance(IDLE_LIMIT - a_moment);
    console.ask("GET", "/style.css").send().await;
    console.clock.advance(a_moment);
    assert_eq!(
        console
            .ask_from_page("GET", "/")
            .header("cookie", operator)
            .send()
            .await
            .status,
        401
    );
    assert_eq!(IDLE_LIMIT, Duration::from_secs(15 * 60));
    assert_eq!(console.ended().await, Ended::Idle);
}

#[tokio::test]
async fn a_page_is_small_and_asks_only_this_server() {
    let (_stack, console) = served().await;
    let operator = console.sign_in().await;
    let page = operator.page("/campaigns/chai-bora-2026/live").await;
    let parts = page
        .split(['"', '\''])
        .filter(|part| part.starts_with('/') && part.contains('.'));
    let mut size = page.len();
    for part in parts {
        size += operator.page(part).await.len();
    }
    assert!(size < 300_000, "{size} bytes");
    assert_lacks!(page, "http:", "https:", " style=");
}
