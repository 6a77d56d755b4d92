use karwan_broker::{Broker, Error, Mode, Publisher, StreamEnd, Watermark};
use karwan_testkit::nats;
use karwan_testkit::nats::{Options, Server};

use crate::fixture::{
    CONFIRMED, STREAM, connected, content, counted, ids, message, numbers, open, prepared, publish, topology,
};

#[tokio::test]
async fn messages_arrive_in_order_with_their_attributes_and_their_bytes() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=3000).await;
    assert_eq!(numbers(&server, STREAM).await, counted(3000));
    let first = content(&server, STREAM).await.remove(0);
    assert_eq!(first.subject.as_str(), CONFIRMED);
    assert_eq!(first.payload, r#"{"number":1}"#);
    let mut headers: Vec<String> =
        first.headers.unwrap().iter().map(|(name, values)| format!("{name}={}", values[0])).collect();
    headers.sort_unstable();
    expect_test::expect![[r#"
        Karwan-Logged=1700000000001
        Karwan-Position=1-1
        Nats-Expected-Last-Sequence=0
        Nats-Msg-Id=event-1
        eventId=event-1
        eventType=melmastoon.reservation.booking.confirmed
        eventVersion=1
        idempotencyKey=event-1
        orderingKey=tnt_1:b-1
        tenantId=tnt_1"#]]
    .assert_eq(&headers.join("\n"));
}

#[tokio::test]
async fn a_new_publisher_is_told_where_the_stream_ends() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    let (_, empty) = open(&broker, Mode::Pipelined).await;
    assert_eq!((empty.first_seq, empty.last_seq, empty.position), (1, 0, None));
    publish(&broker, Mode::Pipelined, 1..=5).await;
    let (_, end) = open(&broker, Mode::Pipelined).await;
    assert_eq!((end.first_seq, end.last_seq), (1, 5));
    assert_eq!(end.position, Some(Watermark { incarnation: 1, seq: 5 }));
    assert_eq!(end.created, empty.created);
}

#[tokio::test]
async fn answers_move_the_watermark_and_nothing_is_under_way_after_a_flush() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    let (mut publisher, _) = open(&broker, Mode::Pipelined).await;
    assert_eq!(publisher.acked().tag, None);
    for number in 1..=10 {
        publisher.send(&message(number, &ids(number))).await.unwrap();
    }
    let acked = publisher.flush().await.unwrap();
    assert_eq!((acked.tag, acked.stream_seq, acked.count), (Some(10), 10, 10));
    assert_eq!(publisher.outstanding(), 0);
}

#[tokio::test]
async fn of_two_publishers_the_second_is_out_of_step_and_stores_nothing() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    let (mut late, _) = open(&broker, Mode::Pipelined).await;
    publish(&broker, Mode::Pipelined, 1..=3).await;
    late.send(&message(4, &ids(4))).await.unwrap();
    let error = late.flush().await.unwrap_err();
    assert!(matches!(error, Error::OutOfStep { expected: 0, .. }), "{error:?}");
    assert!(matches!(late.send(&message(5, &ids(5))).await, Err(Error::OutOfStep { .. })));
    assert_eq!(numbers(&server, STREAM).await, counted(3));
}

#[tokio::test]
async fn batches_are_stored_whole_and_in_order() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Durable, 1..=2500).await;
    publish(&broker, Mode::Durable, 2501..=2501).await;
    assert_eq!(numbers(&server, STREAM).await, counted(2501));
    let (_, end) = open(&broker, Mode::Durable).await;
    assert_eq!(end.position, Some(Watermark { incarnation: 1, seq: 2501 }));
}

#[tokio::test]
async fn a_batch_of_a_publisher_that_is_out_of_step_leaves_nothing() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    let (mut late, _) = open(&broker, Mode::Durable).await;
    publish(&broker, Mode::Durable, 1..=3).await;
    for number in 4..=9 {
        late.send(&message(number, &ids(number))).await.unwrap();
    }
    let error = late.flush().await.unwrap_err();
    assert!(matches!(error, Error::OutOfStep { .. }), "{error:?}");
    assert_eq!(numbers(&server, STREAM).await, counted(3));
}

/// What a relay does: begin behind the end of the stream, go on, and at any failure begin again.
async fn relay(broker: &Broker, mode: Mode, upto: u64) {
    let mut trouble = 0;
    loop {
        match attempt(broker, mode, upto).await {
            Ok(()) => return,
            Err(error) => {
                trouble += 1;
                assert!(trouble < 10_000, "no progress: {error:?}");
                assert!(
                    matches!(error, Error::NoAnswer { .. } | Error::OutOfStep { .. } | Error::NoJetStream { .. }),
                    "{error:?}"
                );
                tokio::task::yield_now().await;
            }
        }
    }
}

async fn attempt(broker: &Broker, mode: Mode, upto: u64) -> Result<(), Error> {
    let (mut publisher, end): (Publisher, StreamEnd) = Publisher::open(broker, STREAM, mode).await?;
    let behind = end.position.map_or(0, |position| position.seq as u64);
    for number in behind + 1..=upto {
        publisher.send(&message(number, &ids(number))).await?;
    }
    publisher.flush().await.map(drop)
}

/// Kills the server again and again while messages are under way.
async fn survives_kills(mode: Mode, upto: u64) {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    let working = tokio::spawn({
        let broker = broker.clone();
        async move { relay(&broker, mode, upto).await }
    });
    let mut kills = 0;
    while !working.is_finished() && kills < 6 {
        // A kill means something only while there is work under way: some more must have been stored since the last one.
        let before = stored(&server).await;
        while !working.is_finished() && stored(&server).await < before + upto / 10 {
            tokio::task::yield_now().await;
        }
        if working.is_finished() {
            break;
        }
        tokio::task::block_in_place(|| {
            server.kill();
            server.start_again();
        });
        kills += 1;
    }
    working.await.expect("a test needs it");
    assert!(kills >= 3, "only {kills} kills: nothing was tried");
    assert_eq!(numbers(&server, STREAM).await, counted(upto));
}

/// How many messages are in the stream.
async fn stored(server: &Server) -> u64 {
    let client = async_nats::connect(server.url()).await.expect("a test needs it");
    let Ok(answer) = client.request(format!("$JS.API.STREAM.INFO.{STREAM}"), "".into()).await else { return 0 };
    let answer: serde_json::Value = serde_json::from_slice(&answer.payload).expect("a test needs it");
    answer["state"]["last_seq"].as_u64().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_the_server_under_way_loses_doubles_and_inverts_nothing() {
    survives_kills(Mode::Pipelined, 60_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_the_server_under_batches_loses_doubles_and_inverts_nothing() {
    survives_kills(Mode::Durable, 60_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_late_is_no_answer_and_what_it_stored_is_found_again() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=10).await;
    let (mut publisher, _) = open(&broker, Mode::Pipelined).await;
    server.freeze();
    for number in 11..=20 {
        publisher.send(&message(number, &ids(number))).await.unwrap();
    }
    let error = publisher.flush().await.unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error:?}");
    server.thaw();
    relay(&broker, Mode::Pipelined, 30).await;
    assert_eq!(numbers(&server, STREAM).await, counted(30));
}

#[tokio::test]
async fn a_deleted_stream_is_said_to_be_gone_and_a_new_one_has_another_life() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=5).await;
    let (mut publisher, end) = open(&broker, Mode::Pipelined).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    client.request(format!("$JS.API.STREAM.DELETE.{STREAM}"), "".into()).await.unwrap();
    publisher.send(&message(6, &ids(6))).await.unwrap();
    let error = publisher.flush().await.unwrap_err();
    assert!(matches!(&error, Error::StreamGone { stream } if stream == STREAM), "{error:?}");
    assert!(matches!(Publisher::open(&broker, STREAM, Mode::Pipelined).await, Err(Error::StreamGone { .. })));
    topology().apply(&broker).await.unwrap();
    let (_, anew) = open(&broker, Mode::Pipelined).await;
    assert_eq!((anew.last_seq, anew.position), (0, None));
    assert_ne!(anew.created, end.created);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_empty_has_no_streams_until_they_are_made_again() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    publish(&broker, Mode::Pipelined, 1..=5).await;
    tokio::task::block_in_place(|| {
        server.kill();
        server.start_again_empty();
    });
    let error = loop {
        match Publisher::open(&broker, STREAM, Mode::Pipelined).await.map(drop) {
            Err(Error::NoAnswer { .. }) => {}
            other => break other.unwrap_err(),
        }
    };
    assert!(matches!(error, Error::StreamGone { .. }), "{error:?}");
    topology().apply(&broker).await.unwrap();
    relay(&broker, Mode::Pipelined, 8).await;
    assert_eq!(numbers(&server, STREAM).await, counted(8));
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_by_name_and_those_before_it_are_stored() {
    let options = Options { payload_bytes_max: Some(4096), ..Options::default() };
    let Some(server) = Server::start(options).or_skip() else { return };
    let broker = prepared(&server).await;
    for mode in [Mode::Pipelined, Mode::Durable] {
        let (mut publisher, end) = open(&broker, mode).await;
        let first = end.position.map_or(0, |position| position.seq as u64) + 1;
        publisher.send(&message(first, &ids(first))).await.unwrap();
        let (large, texts) = (first + 1, ids(first + 1));
        let mut large = message(large, &texts);
        large.payload = vec![b'x'; 5000].into();
        let error = match publisher.send(&large).await {
            Err(error) => error,
            Ok(()) => publisher.flush().await.unwrap_err(),
        };
        assert!(matches!(&error, Error::Refused { tag, .. } if *tag == first + 1), "{error:?}");
        assert!(error.to_string().contains("4096"), "{error}");
        let (_, end) = open(&broker, mode).await;
        assert_eq!(end.last_seq, first);
    }
}

#[tokio::test]
async fn an_attribute_with_a_line_break_is_refused_by_name() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    let (mut publisher, _) = open(&broker, Mode::Pipelined).await;
    let texts = ids(1);
    let mut bad = message(7, &texts);
    bad.attributes.idempotency_key = "a\nNats-Rollup: all";
    let error = publisher.send(&bad).await.unwrap_err();
    assert!(matches!(&error, Error::Refused { tag: 7, .. }) && error.to_string().contains("idempotencyKey"), "{error}");
    assert_eq!(numbers(&server, STREAM).await, counted(0));
}

#[tokio::test]
async fn a_subject_that_no_stream_takes_is_refused_by_name() {
    let Some(server) = nats().or_skip() else { return };
    let broker = prepared(&server).await;
    let (mut publisher, _) = open(&broker, Mode::Pipelined).await;
    let texts = ids(1);
    let mut strange = message(1, &texts);
    strange.subject = "melmastoon.reservation.booking.dreamt.v1";
    publisher.send(&strange).await.unwrap();
    let error = publisher.flush().await.unwrap_err();
    assert!(matches!(&error, Error::Refused { tag: 1, .. }) && error.to_string().contains("dreamt"), "{error}");
}

#[tokio::test]
async fn a_full_store_is_full_and_no_message_is_to_blame() {
    let options = Options { store_bytes_max: Some(200_000), ..Options::default() };
    let Some(server) = Server::start(options).or_skip() else { return };
    let broker = prepared(&server).await;
    let (mut publisher, _) = open(&broker, Mode::Pipelined).await;
    let mut outcome = Ok(());
    for number in 1..=1000 {
        let texts = ids(number);
        let mut message = message(number, &texts);
        message.payload = format!("{{\"number\":{number},\"filler\":\"{}\"}}", "x".repeat(1000)).into();
        outcome = publisher.send(&message).await;
        if outcome.is_err() {
            break;
        }
    }
    let error = match outcome {
        Err(error) => error,
        Ok(()) => publisher.flush().await.unwrap_err(),
    };
    assert!(matches!(error, Error::Full { .. }) && error.is_away(), "{error:?}");
    let stored = numbers(&server, STREAM).await;
    assert_eq!(stored, counted(stored.len() as u64));
    assert_eq!(publisher.acked().tag, stored.last().copied());
}

#[tokio::test]
async fn a_server_without_batches_is_not_asked_for_them() {
    let Some(server) = nats().or_skip() else { return };
    let broker = connected(&server).await;
    let (major, minor, patch) = server.version();
    assert_eq!(broker.can_be_durable(), (major, minor, patch) >= (2, 15, 0));
}
