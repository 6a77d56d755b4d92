//! The event that is measured: about 1 KB with its envelope, each serial a fact of its own.

use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{CorrelationId, Id, Kind, TenantId};
use karwan_envelope::money::{Micros, Money};
use karwan_envelope::time::Timestamp;
use melmastoon::payment::{IntentCaptured, PaymentPurpose};
use melmastoon::values::PaymentRail;

/// Ids of the bench start here.
const FIRST: u128 = 0x0190_c2f0_0000_7000_8000_0000_0000_0000;

/// Who publishes it, for one of several tenants.
pub fn context(tenant: u32, correlation: CorrelationId) -> Context {
    Context {
        tenant: Tenant::One(TenantId::from_bits(FIRST + 1 + u128::from(tenant))),
        cause: Cause::root(correlation),
        actor: Actor { kind: ActorKind::Service, id: "payment-gateway-service".to_owned() },
        producer: Producer {
            service: "payment-gateway-service".to_owned(),
            instance: "payment-gateway-service-00042-abc".to_owned(),
            commit: "9f2c1e7d4b8a6053c1d2e3f4a5b6c7d8e9f0a1b2".to_owned(),
            region: Some("me-central1".to_owned()),
        },
        residency: Residency::Me,
    }
}

/// The event with a serial; key and intent are its own.
pub fn captured(serial: u64) -> IntentCaptured {
    fn id<K: Kind>(serial: u64) -> Id<K> {
        Id::from_bits(FIRST + u128::from(serial))
    }
    let amount = Money { amount_micro: Micros::new(12_500_000), currency: "AFN".parse().expect("three capitals") };
    IntentCaptured {
        payment_intent_id: id(serial),
        folio_id: id(2),
        reservation_id: id(3),
        saga_id: Some(id(4)),
        property_id: id(5),
        purpose: PaymentPurpose::Booking,
        rail: PaymentRail::Card,
        amount,
        received: amount,
        captured_at: Timestamp::from_unix_ms(1_777_543_200_117),
    }
}
