use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use karwan_broker::{Broker, Error, Mode, Options, Settings, Start, Subscription, Version};
use karwan_testkit::nats;
use karwan_testkit::nats::Server;

use crate::fixture::{CONFIRMED, STREAM, connected, counted, numbers, prepared, publish, topology};

/// Plays a server of another version: greets, and answers to a ping.
fn vendor(version: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a test needs it");
    let port = listener.local_addr().expect("a test needs it").port();
    let greeting = format!(
        "INFO {{\"server_id\":\"x\",\"version\":\"{version}\",\"proto\":1,\"headers\":true,\"max_payload\":1048576,\"jetstream\":true}}\r\n"
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a test needs it");
            stream.write_all(greeting.as_bytes()).expect("a test needs it");
            let lines = BufReader::new(stream.try_clone().expect("a test needs it")).lines();
            for line in lines.map_while(Result::ok) {
                if line.starts_with("PING") && stream.write_all(b"PONG\r\n").is_err() {
                    break;
                }
            }
        }
    });
    format!("nats://127.0.0.1:{port}")
}

#[tokio::test]
async fn a_server_that_ignores_filters_is_refused_with_the_reason_and_the_remedy() {
    let error = Broker::connect(&vendor("2.9.10"), Options::default()).await.unwrap_err();
    assert!(matches!(&error, Error::OldServer { found, .. } if found == "2.9.10"), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("2.10.0 or newer is needed") && text.contains("filter_subjects"), "{text}");
    assert!(Broker::connect(&vendor("strange"), Options::default()).await.is_err());
    let broker = Broker::connect(&vendor("2.10.0"), Options::default()).await.unwrap();
    assert_eq!(broker.version().unwrap(), Version(2, 10, 0));
    assert!(!broker.can_be_durable());
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = Broker::connect(&format!("nats://{free}"), Options::default()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_away(), "{error:?}");
}

#[tokio::test]
async fn no_secret_is_printed_whatever_goes_wrong() {
    let configuration = "authorization { user: relay, password: hush-hush }\n".to_owned();
    let options = nats::Options { configuration, ..nats::Options::default() };
    let Some(server) = Server::start(options).or_skip() else { return };
    let mut said = Vec::new();
    for url in [
        server.url_as("relay", "wrong-secret"),
        "nats://relay:wrong-secret@127.0.0.1:1".to_owned(),
        "http://relay:wrong-secret@127.0.0.1".to_owned(),
        vendor("2.9.10").replace("nats://", "nats://relay:wrong-secret@"),
    ] {
        let error = Broker::connect(&url, Options::default()).await.unwrap_err();
        said.push(chain(&error));
        said.push(format!("{error:?}"));
    }
    let broker = Broker::connect(&server.url_as("relay", "hush-hush"), Options::default()).await.unwrap();
    said.push(format!("{broker:?} {}", broker.address()));
    for text in said {
        assert!(!text.contains("secret") && !text.contains("hush"), "{text}");
    }
    let denied = Broker::connect(&server.url_as("relay", "wrong"), Options::default()).await.unwrap_err();
    assert!(matches!(denied, Error::Denied { .. }), "{denied:?}");
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_mends_itself() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    tokio::task::block_in_place(|| {
        server.kill();
        server.start_again();
    });
    while !broker.is_connected() {
        tokio::task::yield_now().await;
    }
    publish(&broker, Mode::Pipelined, 1..=3).await;
    assert_eq!(numbers(&server, STREAM).await, counted(3));
}

#[tokio::test]
async fn a_server_without_jetstream_says_so() {
    let broker = Broker::connect(&vendor("2.10.0"), Options { answer_ms_max: 50, ..Options::default() }).await.unwrap();
    let error = topology().check(&broker).await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    let Some(server) = nats().or_skip() else { return };
    let live = connected(&server).await;
    assert!(live.version().unwrap() >= Version::OLDEST);
}

/// The kinds of login that the product takes, over TLS alone.
#[tokio::test]
async fn a_server_with_tls_and_a_password_is_published_to_and_read_from() {
    let configuration = "authorization { user: relay, password: hush-hush }\n".to_owned();
    let options = nats::Options { configuration, tls: true, ..nats::Options::default() };
    let Some(server) = Server::start(options).or_skip() else { return };
    let broker = Broker::connect(&server.tls_url_as("relay", "hush-hush"), Options::default()).await.unwrap();
    topology().apply(&broker).await.unwrap();
    publish(&broker, Mode::Pipelined, 1..=3).await;
    let settings = Settings::new(STREAM, "reader", &[CONFIRMED.to_owned()]);
    let (mut subscription, _) = Subscription::open(&broker, &settings, Start::Beginning).await.unwrap();
    let got = subscription.next_batch(3, std::time::Duration::from_secs(60)).await.unwrap();
    assert_eq!(got.first().map(|first| first.stream_seq), Some(1));
    let with_no_trust = server.tls_url_as("relay", "hush-hush").split('?').next().unwrap_or_default().to_owned();
    for (url, what) in [
        (server.tls_url_as("relay", "wrong-secret"), "broker-denied"),
        (with_no_trust, "broker-unreachable"),
        (server.url_as("relay", "hush-hush").replace("127.0.0.1", "localhost"), "broker-unreachable"),
    ] {
        let error = Broker::connect(&url, Options::default()).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert_eq!(error.code(), what, "{text}");
        assert!(!text.contains("hush") && !text.contains("secret"), "{text}");
    }
}

#[tokio::test]
async fn a_key_in_a_file_is_a_login() {
    // A user's seed and its public key, made for this test.
    let seed = "SUAGWYLSO5QW4IDUMVZXIIDPMYQGCIDMN5TWS3RAMJ4SAYJANNSXSIK4SU";
    let public = "UD4JINWTUVNTMMM33EHLJLS4Z7XNJTKU77SB7YRJ3AN3YFAWSN6GL3D4";
    let configuration = format!("authorization {{ users: [ {{ nkey: {public} }} ] }}\n");
    let options = nats::Options { configuration, ..nats::Options::default() };
    let Some(server) = Server::start(options).or_skip() else { return };
    let file = server.directory().join("relay.nk");
    std::fs::write(&file, format!("{seed}\n")).unwrap();
    let url = format!("{}?nkey={}", server.url(), file.display());
    let broker = Broker::connect(&url, Options::default()).await.unwrap();
    topology().apply(&broker).await.unwrap();
    let error = Broker::connect(&server.url(), Options::default()).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(seed), "{error:?}");
}
