//! Stores for tests: a migrated database with a login, or a migrated file, and events in them.

use std::ops::Range;
use std::sync::Arc;

use karwan_envelope::cause::{Actor, ActorKind, Cause, Producer, Residency, Tenant};
use karwan_envelope::envelope::Context;
use karwan_envelope::ids::{CorrelationId, Id, TenantId};
use karwan_envelope::money::{Micros, Money};
use karwan_envelope::time::Timestamp;
use karwan_registry::Catalogue;
use karwan_store::{Error, Facts, Options, Store};
use karwan_testkit::postgres::{Database, Server};
use melmastoon::payment::{IntentCaptured, PaymentPurpose};
use melmastoon::values::PaymentRail;

use crate::folder::Folder;
use crate::karwan::{Answer, call, karwan};

/// The service whose events are appended.
pub const SERVICE: &str = "payment-gateway-service";
/// Its subject.
pub const SUBJECT: &str = "melmastoon.payment.intent.captured.v1";
/// A tenant, as a UUID.
pub const TENANT: &str = "0190c2f0-0000-7000-8000-000000000001";

/// A database of the shared server, migrated, with a login of its own that may append.
pub struct Place<'s> {
    pub database: Database<'s>,
    pub login: String,
}

impl<'s> Place<'s> {
    pub fn new(server: &'s Server) -> Self {
        let database = server.database();
        let login = format!("login_{}", database.name());
        database.psql(&format!("CREATE ROLE {login} LOGIN")).expect("a superuser may");
        let grant = format!("{login}={SERVICE}");
        // One login for both, which a test may; a program that appends needs no node's rights.
        karwan(&["migrate", "--store", &database.url(), "--grant", &login, "--grant", &grant]).exits(0);
        Self { database, login }
    }

    /// Where the login finds it.
    pub fn url(&self) -> String {
        self.database.url_as(&self.login)
    }

    /// Appends events of a tenant with these keys.
    #[track_caller]
    pub fn append(&self, tenant: &str, keys: &[&str]) {
        let calls: Vec<String> = keys.iter().map(|key| append(tenant, key)).collect();
        self.database.psql_as(&self.login, &calls.join("\n")).expect("the login speaks for the service");
    }
}

/// The statement that appends one event.
pub fn append(tenant: &str, key: &str) -> String {
    format!(
        "SELECT karwan.append('{tenant}', '{SUBJECT}', '{key}', '{key}:capture', '{{\"n\":12345678901234567890.10}}');"
    )
}

/// The lines of an answer as JSON.
pub fn objects(answer: &Answer) -> Vec<serde_json::Value> {
    answer.stdout.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

/// Commits events to a store, as a program does: in one unit, for the tenant.
pub fn emit(address: &str, serials: Range<u64>) {
    let catalogue = Catalogue::of(&melmastoon::platform::PLATFORM).expect("it has a catalogue");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let address = address.parse().expect("an address");
        let store = Store::open(&address, Options::new(Arc::new(catalogue), Vec::new())).await.expect("it opens");
        let context = context_of(SERVICE);
        let unit = store.unit(&context, |tx| {
            tx.emit(serials.clone().map(captured).collect::<Facts>());
            std::future::ready(Ok::<(), Error>(()))
        });
        unit.await.expect("it commits");
    });
}

/// Of the tenant of these tests, as a service that acts by itself.
pub fn context_of(service: &str) -> Context {
    let tenant = uuid::Uuid::parse_str(TENANT).expect("a UUID").as_u128();
    Context {
        tenant: Tenant::One(TenantId::from_bits(tenant)),
        cause: Cause::root(CorrelationId::from_bits(tenant)),
        actor: Actor { kind: ActorKind::Service, id: service.to_owned() },
        producer: Producer { service: service.into(), instance: "test".into(), commit: "test".into(), region: None },
        residency: Residency::Me,
    }
}

fn captured(serial: u64) -> IntentCaptured {
    let amount = Money { amount_micro: Micros::new(12_500_000), currency: "AFN".parse().expect("three capitals") };
    IntentCaptured {
        payment_intent_id: Id::from_bits(serial.into()),
        folio_id: Id::from_bits(2),
        reservation_id: Id::from_bits(3),
        saga_id: None,
        property_id: Id::from_bits(5),
        purpose: PaymentPurpose::Booking,
        rail: PaymentRail::Card,
        amount,
        received: amount,
        captured_at: Timestamp::from_unix_ms(1_777_543_200_117),
    }
}

/// A migrated file, and its address.
pub fn file() -> (Folder, String) {
    let folder = Folder::new();
    let address = format!("sqlite:{}", folder.name("karwan.db"));
    call(&["migrate", "--store", &address]).run().exits(0);
    (folder, address)
}
