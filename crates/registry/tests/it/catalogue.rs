//! From a struct to the wire and back, through the catalogue of a stranger's platform.

use expect_test::expect;
use karwan_envelope::cause::Tenant;
use karwan_envelope::ids::TenantId;
use karwan_envelope::wire;
use karwan_registry::platform::Platform;
use karwan_registry::{Catalogue, Event, EventType, Scope, Tenancy, events};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shop::{
    BasketPlaced, BooksClosed, COUNTER, HintGiven, InvoicePaid, PROFILES, SHOP, TENANT, basket, catalogue, context,
    mint, produced, provenance,
};

#[test]
fn a_stranger_s_event_travels_from_struct_to_wire_and_back() {
    let catalogue = catalogue();
    for profile in PROFILES {
        let envelope = produced(&basket()).expect("nothing is wrong with it");
        let text = wire::encode(profile, catalogue.directory(), &envelope).expect("this profile carries it");
        let read = wire::decode(profile, catalogue.directory(), text.as_bytes()).expect("we wrote it").envelope;
        assert_eq!(read.differences(&envelope), Vec::<&str>::new(), "{}", profile.name);
        catalogue.validate(&read).expect("what was produced may be consumed");
        let event: BasketPlaced = serde_json::from_str(read.payload.get()).expect("its own struct");
        assert_eq!(event, basket());
    }
}

#[test]
fn an_envelope_has_every_fact_of_its_row() {
    let envelope = produced(&basket()).expect("nothing is wrong with it");
    let text = wire::encode(&COUNTER, catalogue().directory(), &envelope).expect("the shop's own profile");
    let mut printed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let (uri, hash) = printed["schemaUri"].as_str().and_then(|uri| uri.split_once("#sha256-")).expect("a schema URI");
    assert_eq!(hash, envelope.schema.hash.to_string());
    printed["schemaUri"] = uri.into();
    expect![[r#"
        {
          "actorId": {
            "id": "usr_1",
            "type": "user"
          },
          "correlationId": "01J31F0000E008000000000002",
          "eventId": "019e7044-8800-7dd7-844c-3cd7f43c661c",
          "eventType": "shop.order.basket.placed",
          "eventVersion": 1,
          "idempotencyKey": "o-1:placed:3",
          "metadata": {
            "dataResidency": "europe-west1",
            "orderingKey": "tnt_01J31F0000E008000000000001:o-1",
            "outboxId": "01KSR49200FQBR8K1WTZT3RSGW",
            "retentionClass": "kept"
          },
          "occurredAt": "2026-05-28T20:26:40.000Z",
          "payload": {
            "email": "zarghuna@example.org",
            "lines": [
              {
                "article": "bread",
                "count": 2
              }
            ],
            "orderId": "o-1",
            "rev": 3,
            "speed": "express",
            "total": {
              "amountMicro": "12500000",
              "currency": "AFN"
            }
          },
          "producedBy": {
            "commit": "0a1b2c3",
            "instance": "r-1",
            "region": "europe-west1",
            "service": "order-service"
          },
          "schemaUri": "schemas://order/basket/placed/v1",
          "tenantId": "tnt_01J31F0000E008000000000001"
        }
    "#]]
    .assert_eq(&format!("{:#}\n", printed));
}

#[test]
fn a_row_is_what_the_attributes_say() {
    let row = BasketPlaced::row();
    assert_eq!(BasketPlaced::SUBJECT, "shop.order.basket.placed.v1");
    assert_eq!((row.owner.as_str(), row.producers.as_slice()), ("order-service", &["order-service".to_owned()][..]));
    assert_eq!(row.aliases, ["till.basket.placed.v1"]);
    assert_eq!(row.summary, "A customer placed an order.");
    assert_eq!((row.tenancy, row.scope), (Tenancy::Tenant, Scope::Domain));
    assert!(row.merkle && row.decided_here && !row.local_only);
    let paid = InvoicePaid::row();
    assert_eq!((paid.scope, paid.producers.len()), (Scope::Integration, 2));
}

#[test]
fn a_template_uses_the_names_on_the_wire() {
    let row = BasketPlaced::row();
    assert_eq!(row.idempotency_key.0, "{orderId}:placed:{rev}");
    let payload = serde_json::to_value(basket()).expect("JSON");
    assert_eq!(row.idempotency_key.render(&payload), Some(basket().idempotency_key()));
    assert_eq!(row.key.render(&payload), Some(basket().key()));
}

#[test]
fn the_same_intent_twice_has_the_same_idempotency_key_and_another_id() {
    let (catalogue, mint, context) = (catalogue(), mint(), context("order-service", TENANT));
    let [first, second] = [(); 2].map(|()| catalogue.envelope(&basket(), &context, None, &mint).expect("valid"));
    assert_eq!(first.idempotency_key, second.idempotency_key);
    assert_eq!(first.idempotency_key, "o-1:placed:3");
    assert_ne!(first.id, second.id);
    let changed = BasketPlaced { revision: 4, ..basket() };
    let third = catalogue.envelope(&changed, &context, None, &mint).expect("valid");
    assert_ne!(first.idempotency_key, third.idempotency_key);
}

#[test]
fn an_event_is_found_by_its_alias() {
    let catalogue = catalogue();
    let by = |name: &str| catalogue.directory().resolve(name).map(|entry| entry.row.subject.clone());
    assert_eq!(by("till.basket.placed.v1"), by("shop.order.basket.placed.v1"));
    assert_eq!(by("till.basket.placed.v2"), None);
}

#[test]
fn provenance_travels_in_the_envelope() {
    let context = context("advice-service", TENANT);
    let hint = HintGiven { hint_id: "h-1".to_owned() };
    let envelope = catalogue().envelope(&hint, &context, Some(provenance()), &mint()).expect("valid");
    assert_eq!(envelope.ai_provenance, Some(provenance()));
}

#[test]
fn an_event_of_another_platform_is_refused() {
    let shop = catalogue();
    let foreign = Foreign { id: "1".to_owned() };
    let refused = shop.envelope(&foreign, &context("order-service", TENANT), None, &mint()).expect_err("not a row");
    expect!["/: `bakery.oven.bread.baked.v1` is not in the catalogue of shop (envelope-subject-unknown)"]
        .assert_eq(&refused.to_string());
}

/// Bread came out of the oven.
#[derive(Serialize, Deserialize, JsonSchema, Event)]
#[event(
    subject = "bakery.oven.bread.baked.v1",
    owner = "order-service",
    retention = "eternal",
    key = "{id}",
    idempotency = "{id}"
)]
struct Foreign {
    /// The bread.
    id: String,
}

fn check_unbuilt(events: fn() -> Vec<EventType>, expected: &str) {
    let platform: &'static Platform = Box::leak(Box::new(Platform { events, ..SHOP }));
    let error = Catalogue::of(platform).expect_err("it breaks a rule of the catalogue");
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    assert_eq!(format!("{error}{cause}"), expected);
}

#[test]
fn a_catalogue_refuses_a_name_outside_its_grammar() {
    check_unbuilt(
        || events![Foreign].into(),
        "an event is named outside the grammar: subject `bakery.oven.bread.baked.v1`: must start with `shop.`",
    );
}

/// Something was kept for good.
#[derive(Serialize, Deserialize, JsonSchema, Event)]
#[event(
    subject = "shop.order.basket.kept.v1",
    owner = "order-service",
    retention = "eternal",
    key = "{id}",
    idempotency = "{id}"
)]
struct Eternal {
    /// The thing.
    id: String,
}

#[test]
fn a_catalogue_refuses_a_retention_class_that_the_platform_lacks() {
    check_unbuilt(|| events![Eternal].into(), "shop.order.basket.kept.v1: no retention class `eternal`");
}

/// C-69: the envelope is the platform's; whose books they are stands in the payload.
#[test]
fn a_platform_event_may_name_a_tenant_in_its_payload() {
    let Tenant::One(tenant_id) = TENANT else { unreachable!("the tests' tenant is one") };
    let closed = BooksClosed { day: "2026-11-16".to_owned(), tenant_id: Some(tenant_id) };
    let context = context("order-service", Tenant::Platform);
    catalogue().envelope(&closed, &context, None, &mint()).expect("valid");
}

#[test]
fn two_tenants_with_the_same_intent_have_different_ordering_keys() {
    let other = Tenant::One(TenantId::from_bits(1 << 100));
    let keys = [TENANT, other].map(|tenant| {
        let envelope =
            catalogue().envelope(&basket(), &context("order-service", tenant), None, &mint()).expect("valid");
        let text = wire::encode(&COUNTER, catalogue().directory(), &envelope).expect("printable");
        let printed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        printed["metadata"]["orderingKey"].clone()
    });
    assert_ne!(keys[0], keys[1]);
}
