//! The only way to make a new envelope asks for every mandatory fact.

use expect_test::expect;
use karwan_envelope::Envelope;
use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::{Context, Draft};
use karwan_envelope::ids::TenantId;
use karwan_envelope::mint::{Mint, SeededRandom};
use karwan_envelope::time::{Clock, ManualClock, Timestamp};
use serde_json::value::to_raw_value;

use crate::goldens::{self, print, read};
use crate::shop::{self, COUNTER, PROFILES};

fn mint() -> Mint<ManualClock, SeededRandom> {
    Mint::new(ManualClock::at(Timestamp::from_unix_ms(1_777_644_000_000)), SeededRandom::new(3))
}

fn context(mint: &Mint<ManualClock, SeededRandom>) -> Context {
    Context {
        tenant: Tenant::One(TenantId::from_bits(42)),
        cause: Cause::root(mint.correlation()),
        actor: Actor { kind: ActorKind::User, id: "usr-5".to_owned() },
        producer: Producer {
            service: "shop-service".to_owned(),
            instance: "rev-12".to_owned(),
            commit: "4f2c9d1".to_owned(),
            region: Some("me-central1".to_owned()),
        },
        residency: Residency::Me,
    }
}

fn seal(subject: &str, context: &Context, mint: &Mint<ManualClock, SeededRandom>) -> Envelope {
    let directory = shop::directory();
    let draft = Draft {
        key: "o-77".to_owned(),
        idempotency_key: "o-77:placed".to_owned(),
        payload: to_raw_value(&serde_json::json!({ "orderId": "o-77" })).expect("a value prints"),
        ai_provenance: None,
    };
    draft.seal(directory.resolve(subject).expect("one of the shop's names"), context, mint)
}

#[test]
fn a_sealed_draft_has_every_mandatory_fact() {
    let mint = mint();
    let envelope = seal("till.order.placed.v1", &context(&mint), &mint);
    let document = goldens::value(&print(&COUNTER, &envelope));
    expect![[r#"
        {
          "actorId": {
            "id": "usr-5",
            "type": "user"
          },
          "correlationId": "01KQHXDMR0FZPV6HKFH9XR3AC9",
          "eventId": "019de3d6-d300-7fed-b346-6f8a7b81a98a",
          "eventType": "shop.order.placed",
          "eventVersion": 1,
          "idempotencyKey": "o-77:placed",
          "metadata": {
            "dataResidency": "me-central1",
            "orderingKey": "tnt_0000000000000000000000001A:o-77",
            "outboxId": "01KQHXDMR0FZPV6HKFH9XR3ACA",
            "retentionClass": "kept"
          },
          "occurredAt": "2026-05-01T14:00:00.000Z",
          "payload": {
            "orderId": "o-77"
          },
          "producedBy": {
            "commit": "4f2c9d1",
            "instance": "rev-12",
            "region": "me-central1",
            "service": "shop-service"
          },
          "schemaUri": "schemas://shop/order/placed/v1#sha256-1414141414141414141414141414141414141414141414141414141414141414",
          "tenantId": "tnt_0000000000000000000000001A"
        }"#]].assert_eq(&serde_json::to_string_pretty(&document).unwrap());
    assert_eq!(envelope.occurred_at, mint.clock().now());
    assert_eq!(envelope.id.unix_ms() as i64, mint.clock().now().unix_ms());
    assert!(envelope.id.is_v7());
}

#[test]
fn a_sealed_draft_is_read_back_by_every_profile() {
    let mint = mint();
    let envelope = seal("shop.order.placed.v1", &context(&mint), &mint);
    for profile in PROFILES {
        let back = read(profile, &print(profile, &envelope)).unwrap();
        assert_eq!(
            (back.id, &back.subject, back.tenant, &back.key),
            (envelope.id, &envelope.subject, envelope.tenant, &envelope.key)
        );
        assert_eq!(back.idempotency_key, "o-77:placed");
    }
    assert_eq!(read(&COUNTER, &print(&COUNTER, &envelope)).unwrap(), envelope);
}

#[test]
fn a_chain_of_sealed_drafts_shares_its_correlation() {
    let mint = mint();
    let mut context = context(&mint);
    let root = seal("shop.order.placed.v1", &context, &mint);
    context.cause = Cause::of(root.id, &root.cause);
    let parcel = seal("depot.parcel.sent.v1", &context, &mint);
    assert_eq!(root.cause.causation, None);
    assert_eq!(parcel.cause.causation, Some(root.id));
    assert_eq!(parcel.cause.correlation, root.cause.correlation);
    assert!(parcel.id > root.id);
    assert_eq!(parcel.retention.class, "brief");
}

/// R-013.
#[test]
fn the_same_intent_gives_the_same_idempotency_key() {
    let directory = shop::directory();
    let row = &directory.resolve("shop.order.placed.v1").unwrap().row;
    let payload = serde_json::json!({ "orderId": "o-77", "at": 5, "ready": true, "none": null, "list": [] });
    assert_eq!(row.idempotency_key.render(&payload).as_deref(), Some("o-77:placed"));
    let template = |text: &str| karwan_envelope::row::Template(text.to_owned());
    assert_eq!(template("{orderId}:{at}:{ready}").render(&payload).as_deref(), Some("o-77:5:true"));
    assert_eq!(template("{orderId}:{at}").fields().collect::<Vec<_>>(), ["orderId", "at"]);
    for text in ["{missing}", "{none}", "{list}", "{orderId"] {
        assert_eq!(template(text).render(&payload), None, "{text}");
    }
}
