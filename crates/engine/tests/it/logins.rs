//! Relays and consumers under the logins of their services, on a server that is configured as `karwan topology emit-nats` says.

use karwan_broker::nats_conf::{RelayUser, Roles, emit, variable};
use karwan_broker::{Broker, Topology};
use karwan_engine::{Consumer, Received, Relay, Verdict, Work};
use karwan_envelope::time::Timestamp;
use karwan_store::{Error, TenantTx};
use karwan_testkit::nats::{Options, Server};

use crate::fixture::{self, Fixture, note};
use crate::processes::yard::until;
use crate::relay::topology;
use crate::shop::{OrderPlaced, ParcelSent, context_of, sent};

/// A server on which each service has its own rights, its password being its name, and whose streams are made.
pub async fn guarded(topology: &Topology) -> Option<Server> {
    let users = ["sales-service", "delivery-service", "audit-service", "karwan-topology", "main-relay"];
    let environment = users.map(|user| (variable(user), user.to_owned())).to_vec();
    let services = ["sales-service", "delivery-service"].map(str::to_owned).to_vec();
    let relays = vec![RelayUser { user: "main-relay".to_owned(), services }];
    let configuration = emit(topology, &Roles { relays, ..Roles::default() }, Timestamp::from_unix_ms(0));
    let server = Server::start(Options { configuration, environment, ..Options::default() }).or_skip()?;
    topology.apply(&login(&server, "karwan-topology").await).await.expect("its keeper can make them");
    Some(server)
}

pub async fn login(server: &Server, user: &str) -> Broker {
    let options = karwan_broker::Options { answer_ms_max: 2_000, ..karwan_broker::Options::default() };
    Broker::connect(&server.url_as(user, user), options).await.expect("a server that runs can be reached")
}

fn watch(what: &str) -> Consumer {
    let watch = Consumer::new("delivery-service", what).on(async |tx: TenantTx, got: Received<OrderPlaced>| {
        if got.event.order_id == "bad" {
            return Ok(Verdict::Dead("never".to_owned()));
        }
        note(&tx, &got.event.order_id, "p").await?;
        Ok::<_, Error>(Verdict::Done)
    });
    watch.from_stream("SALES")
}

/// it publishes its own topics, and is fed by its own durable; what it gives up reaches the topic's letters.
#[test]
fn a_relay_and_a_consumer_of_a_stream_work_under_the_logins_of_their_services() {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let topic = ["shop.sales.order.placed.v1"];
        let topology = topology().consumer("delivery-service.watch", "delivery-service", &topic).expect("it fits");
        let Some(server) = guarded(&topology).await else { return };
        let Some(consumer) = fixture::sqlite().await else { return };
        let relay = Relay::new(login(&server, "sales-service").await, topology);
        let relay = relay.services(["sales-service".to_owned()]);
        let relay = producer.start_work("relay", Work::new().relay(relay));
        let broker = login(&server, "delivery-service").await;
        let engine = consumer.start_work("n-1", Work::new().consumer(watch("watch")).broker(broker));
        producer.order(1, "bad", 0).await;
        producer.order(1, "good", 0).await;
        until("an order", async || (consumer.notes(1, "good").await == "p").then_some(())).await;
        let keeper = login(&server, "karwan-topology").await;
        let letters = async || keeper.last_sequence("SALES_DLQ").await.expect("it can be asked");
        until("a letter", async || (letters().await == 1).then_some(())).await;
        engine.stop().await;
        relay.stop().await;
    });
}

/// one login for all that it publishes, their dead letters among it, and for nothing else: nobody follows with it.
#[test]
fn one_relay_of_several_services_works_under_a_login_of_its_own() {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let topic = ["shop.sales.order.placed.v1"];
        let topology = topology().consumer("delivery-service.watch", "delivery-service", &topic).expect("it fits");
        let Some(server) = guarded(&topology).await else { return };
        let Some(consumer) = fixture::sqlite().await else { return };
        let hopeless = Consumer::new("delivery-service", "hopeless")
            .on(async |_: TenantTx, _: Received<OrderPlaced>| Ok::<_, Error>(Verdict::Dead("never".to_owned())))
            .on(async |_: TenantTx, _: Received<ParcelSent>| Ok::<_, Error>(Verdict::Dead("never".to_owned())));
        let relay = Relay::new(login(&server, "main-relay").await, topology);
        let engine = producer.start_work("relay", Work::new().consumer(hopeless).relay(relay));
        let follower = Work::new().consumer(watch("watch")).broker(login(&server, "main-relay").await);
        let follower = consumer.start_work("n-1", follower);
        producer.order(1, "o-1", 0).await;
        let context = context_of("delivery-service", 1);
        let unit = producer.store.unit(&context, async |tx: TenantTx| {
            tx.emit(sent("p-1", 1));
            Ok::<_, Error>(())
        });
        unit.await.expect("a parcel can be sent");
        let keeper = login(&server, "karwan-topology").await;
        for stream in ["SALES", "DELIVERY", "SALES_DLQ", "DELIVERY_DLQ"] {
            let last = async || keeper.last_sequence(stream).await.expect("it can be asked");
            until(stream, async || (last().await == 1).then_some(())).await;
        }
        assert!(engine.relay_troubles().now().is_empty(), "{:?}", engine.relay_troubles().now());
        assert_eq!(consumer.notes(1, "o-1").await, "", "a relay's login may not follow");
        follower.stop().await;
        engine.stop().await;
    });
}

/// A consumer that the configuration does not know has no durable that it may pull.
#[test]
fn a_consumer_that_the_configuration_does_not_know_is_fed_nothing() {
    fixture::run(fixture::sqlite(), async |producer: Fixture| {
        let topic = ["shop.sales.order.placed.v1"];
        let topology = topology().consumer("delivery-service.watch", "delivery-service", &topic).expect("it fits");
        let Some(server) = guarded(&topology).await else { return };
        let Some(consumer) = fixture::sqlite().await else { return };
        let relay = Relay::new(login(&server, "sales-service").await, topology);
        let relay = relay.services(["sales-service".to_owned()]);
        let relay = producer.start_work("relay", Work::new().relay(relay));
        let broker = login(&server, "delivery-service").await;
        let work = Work::new().consumer(watch("watch")).consumer(watch("stranger")).broker(broker);
        let engine = consumer.start_work("n-1", work);
        producer.order(1, "o-1", 0).await;
        until("an order", async || (consumer.notes(1, "o-1").await == "p").then_some(())).await;
        let positions = consumer.store.relay().positions("delivery-service.stranger").await;
        assert!(positions.expect("they can be asked for").iter().all(|position| *position == 0));
        engine.stop().await;
        relay.stop().await;
    });
}
