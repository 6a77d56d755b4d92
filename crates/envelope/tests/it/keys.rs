//! R-007, R-020: tenants, ordering keys and idempotency keys have their shape and their bounds on every form.

use expect_test::expect;
use karwan_envelope::cause::Tenant;
use karwan_envelope::envelope::{IDEMPOTENCY_KEY_BYTES_MAX, KEY_BYTES_MAX};
use karwan_envelope::ids::TenantId;
use karwan_envelope::profile::Profile;
use karwan_envelope::wire::{self, EncodeError};
use serde_json::{Value, json};

use crate::goldens::{self, check, edited, full, print, read, taken};
use crate::shop::{self, BOARD, CLOUD, COUNTER, LEDGER, TILL};

#[test]
fn an_ordering_key_is_the_tenant_and_the_aggregate() {
    let tenant = "tnt_01JYNAM000E008000000001G6Y";
    for key in ["o-77", ":o-77", "tnt_01JYNAM000E008000000001G6Z:o-77", tenant, &format!("{tenant}:"), "platform:o-77"]
    {
        let faults = goldens::faults(&COUNTER, &edited(&COUNTER, |it| it["metadata"]["orderingKey"] = json!(key)));
        assert!(
            faults.contains("/metadata/orderingKey") && faults.ends_with("(envelope-ordering-key)"),
            "{key}: {faults}"
        );
        let faults = goldens::faults(&CLOUD, &edited(&CLOUD, |it| it["partitionkey"] = json!(key)));
        assert!(faults.contains("/partitionkey") && faults.ends_with("(envelope-ordering-key)"), "{key}: {faults}");
    }
    taken(&COUNTER, |it| it["metadata"]["orderingKey"] = json!(format!("{}:a:b: é", it["tenantId"].as_str().unwrap())));
}

#[test]
fn a_wrong_tenant_is_one_violation_not_two() {
    check(
        &COUNTER,
        |it| it["tenantId"] = json!("acme"),
        expect!["/tenantId: `acme` is not an id of the form tnt_<ULID> (envelope-field-invalid)"],
    );
    check(
        &CLOUD,
        |it| it["tenantid"] = json!("Platform"),
        expect!["/tenantid: `Platform` is not an id of the form tnt_<ULID> (envelope-field-invalid)"],
    );
}

#[test]
fn the_platform_is_a_tenant_of_its_own() {
    let platform = |it: &mut Value| {
        it["tenantId"] = json!("platform");
        it["metadata"]["orderingKey"] = json!("platform:o-77");
    };
    taken(&COUNTER, platform);
    let envelope = read(&COUNTER, &edited(&COUNTER, platform)).unwrap();
    assert_eq!(envelope.tenant, Tenant::Platform);
    taken(&LEDGER, |it| it["tenantId"] = json!("platform"));
    taken(&TILL, |it| it["tenantId"] = json!("platform"));
    let row = print(&BOARD, &envelope);
    assert!(row.contains(r#""tenantId":null"#), "{row}");
    assert_eq!(read(&BOARD, &row).unwrap().tenant, Tenant::Platform);
}

#[test]
fn a_tenant_of_zero_is_refused_by_reader_and_printer() {
    let zero = "0".repeat(26);
    check(
        &TILL,
        |it| it["tenantId"] = json!(format!("tnt_{zero}")),
        expect![
            "/tenantId: `tnt_00000000000000000000000000` is not the id of a tenant, which is never zero (envelope-field-invalid)"
        ],
    );
    check(
        &BOARD,
        |it| it["tenantId"] = json!("00000000-0000-0000-0000-000000000000"),
        expect![
            "/tenantId: `00000000-0000-0000-0000-000000000000` is not the id of a tenant, which is never zero (envelope-field-invalid)"
        ],
    );
    let mut envelope = read(&COUNTER, full(&COUNTER)).unwrap();
    envelope.tenant = Tenant::One(TenantId::from_bits(0));
    for profile in shop::PROFILES {
        let error = wire::encode(profile, &shop::directory(), &envelope).unwrap_err();
        assert!(matches!(error, EncodeError::Id { what: "tenant id", .. }), "{error:?}");
    }
}

#[test]
fn keys_have_their_bounds_on_every_form() {
    let aggregate = |bytes: usize| "k".repeat(bytes);
    let tenant = |it: &Value| it["tenantId"].as_str().unwrap().to_owned();
    taken(&COUNTER, |it| it["metadata"]["orderingKey"] = json!(format!("{}:{}", tenant(it), aggregate(KEY_BYTES_MAX))));
    taken(&LEDGER, |it| it["partitionKey"] = json!(aggregate(KEY_BYTES_MAX)));
    taken(&TILL, |it| it["data"]["orderId"] = json!(aggregate(KEY_BYTES_MAX)));
    taken(&COUNTER, |it| it["idempotencyKey"] = json!(aggregate(IDEMPOTENCY_KEY_BYTES_MAX)));
    let refused = |profile: &Profile, edit: &dyn Fn(&mut Value), rule: &str| {
        let faults = goldens::faults(profile, &edited(profile, edit));
        assert!(faults.ends_with(rule) && faults.lines().count() == 1, "{faults}");
    };
    for bytes in [0, KEY_BYTES_MAX + 1] {
        let key = aggregate(bytes);
        refused(
            &COUNTER,
            &|it| it["metadata"]["orderingKey"] = json!(format!("{}:{key}", tenant(it))),
            "(envelope-ordering-key)",
        );
        refused(&LEDGER, &|it| it["partitionKey"] = json!(key), "(envelope-ordering-key)");
        refused(&TILL, &|it| it["data"]["orderId"] = json!(key), "(envelope-ordering-key)");
        refused(&BOARD, &|it| it["payload"]["orderId"] = json!(key), "(envelope-ordering-key)");
    }
    for bytes in [0, IDEMPOTENCY_KEY_BYTES_MAX + 1] {
        let key = aggregate(bytes);
        refused(&COUNTER, &|it| it["idempotencyKey"] = json!(key), "(envelope-idempotency-key)");
        refused(&BOARD, &|it| it["dedupKey"] = json!(key), "(envelope-idempotency-key)");
        refused(&CLOUD, &|it| it["idempotencykey"] = json!(key), "(envelope-idempotency-key)");
    }
}

#[test]
fn an_aggregate_that_the_payload_does_not_name_is_a_violation() {
    check(
        &TILL,
        |it| it["data"] = Value::Null,
        expect!["/data: the aggregate's id needs {orderId}, which the payload lacks (envelope-ordering-key)"],
    );
    check(
        &BOARD,
        |it| it["payload"] = json!({ "orderId": {} }),
        expect!["/payload: the aggregate's id needs {orderId}, which the payload lacks (envelope-ordering-key)"],
    );
    taken(&BOARD, |it| it["payload"] = json!({ "orderId": 7 }));
    taken(&COUNTER, |it| it["payload"] = Value::Null);
}
