//! What holds for every emitted schema: closed, bounded, documented, and marked where it is about a person.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect;
use serde_json::Value;

/// Calls `visit` with the place, the name and the schema of every property, at any depth, and with every other schema
/// unnamed.
fn walk(place: &str, name: &str, schema: &Value, visit: &mut dyn FnMut(&str, &str, &Value)) {
    visit(place, name, schema);
    for (name, of) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{place}/{name}"), name, of, visit);
    }
    for keyword in ["$defs", "patternProperties"] {
        for (definition, of) in schema[keyword].as_object().into_iter().flatten() {
            walk(&format!("{place}/{definition}"), "", of, visit);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for (index, of) in schema[keyword].as_array().into_iter().flatten().enumerate() {
            walk(&format!("{place}/{keyword}/{index}"), "", of, visit);
        }
    }
    for keyword in ["items", "additionalProperties", "propertyNames"] {
        if schema.get(keyword).is_some_and(Value::is_object) {
            walk(&format!("{place}/{keyword}"), "", &schema[keyword], visit);
        }
    }
}

fn every_schema(mut visit: impl FnMut(&str, &str, &Value)) {
    for event in melmastoon::events() {
        walk(&(event.row)().subject, "", &(event.schema)(), &mut visit);
    }
}

#[test]
fn every_object_is_closed() {
    every_schema(|place, _, schema| {
        if schema.get("properties").is_some() {
            assert_eq!(schema["additionalProperties"], false, "{place}");
        }
    });
}

#[test]
fn every_property_says_what_it_is() {
    let mut properties = 0;
    every_schema(|place, name, schema| {
        // The tag of a variant is told by the variant.
        if !name.is_empty() && schema.get("const").is_none() {
            let told = schema["description"].as_str().is_some_and(|text| text.trim().ends_with(['.', ':', ')']));
            assert!(told, "{place} has no description: {schema}");
            properties += 1;
        }
    });
    assert!(properties > 500, "101 events have more than {properties} fields");
}

#[test]
fn every_text_list_map_and_integer_is_bounded() {
    every_schema(|place, _, schema| {
        let has = |keyword: &str| schema.get(keyword).is_some();
        let bounded = match schema["type"].as_str() {
            Some("string") => {
                let formatted = schema["format"].as_str().is_some_and(|format| ["date-time", "date"].contains(&format));
                has("maxLength") || has("pattern") || has("const") || has("enum") || formatted
            }
            Some("array") => has("maxItems"),
            Some("integer") => has("minimum") && has("maximum"),
            Some("object") => schema["additionalProperties"] == false || has("maxProperties"),
            Some(_) | None => true,
        };
        assert!(bounded, "{place} has no bound: {schema}");
    });
}

#[test]
fn no_optional_field_is_null() {
    let mut nullable = BTreeSet::new();
    every_schema(|place, _, schema| {
        let null = |kind: &Value| kind == "null";
        let typed = null(&schema["type"]) || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(null));
        let listed = schema["enum"].as_array().is_some_and(|values| values.contains(&Value::Null));
        if typed || listed || schema.get("default").is_some_and(Value::is_null) {
            nullable.insert(place.to_owned());
        }
    });
    // The document writes this one out, as null where the door opened.
    expect!["melmastoon.lock_integration.audit.attempt.v1/denyReason"]
        .assert_eq(&nullable.into_iter().collect::<Vec<_>>().join("\n"));
}

/// U-31: the inventory of personal data, by class, with what a field of that name says elsewhere.
#[test]
fn personal_data_is_marked() {
    let mut classes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    every_schema(|_, name, schema| {
        if let Some(class) = schema["x-pii"].as_str() {
            classes.entry(class.to_owned()).or_default().insert(name.to_owned());
        }
    });
    let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = classes.iter().map(|(class, of)| format!("{class}: {}", names(of))).collect();
    expect![[r#"
        contact: address email phone
        free_text: detail explanation fileName reason specialRequests title vendorMessage
        identifier: activatedBy aggregateId assigneeId changedBy clearedBy closedBy completedBy deactivatedBy decidedBy flaggedBy grantedBy guestId ownerUserId postedBy previousAssigneeId receivedBy reportedBy requestedBy resourceId revokedBy staffId staffUserId startedBy unboundBy unsuspendedBy updatedBy uploadedBy userId voidedBy
        identity: mediaId taxNumber
        name: fullName name
        network: ip userAgent"#]].assert_eq(&lines.join("\n"));
}

/// A field by one of these names is a person's wherever it stands, but for the hotel's own.
#[test]
fn names_addresses_and_numbers_of_persons_are_marked_everywhere() {
    let personal = ["fullName", "guestId", "userId", "staffId", "ip", "userAgent", "specialRequests", "email", "phone"];
    let mut bare = BTreeSet::new();
    every_schema(|place, name, schema| {
        if personal.contains(&name) && schema.get("x-pii").is_none() {
            bare.insert(place.to_owned());
        }
    });
    expect![[r#"
        melmastoon.property.property.created.v1/email
        melmastoon.property.property.created.v1/phone"#]]
    .assert_eq(&bare.into_iter().collect::<Vec<_>>().join("\n"));
}

/// R-400: the inventory of payment data, by class.
#[test]
fn payment_data_is_marked() {
    let mut classes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    every_schema(|_, name, schema| {
        if let Some(class) = schema["x-payment"].as_str() {
            classes.entry(class.to_owned()).or_default().insert(name.to_owned());
        }
    });
    let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = classes.iter().map(|(class, of)| format!("{class}: {}", names(of))).collect();
    expect![[r#"
        amount: amount balanceDue capturedLeft difference expected received refund
        failure: reason
        method: payment paymentMethodId rail
        reference: paymentIntentId refundId"#]]
    .assert_eq(&lines.join("\n"));
}

/// A field by one of these names is about a payment wherever it stands.
#[test]
fn means_and_references_of_payments_are_marked_everywhere() {
    let of_payment = ["payment", "paymentMethodId", "paymentIntentId", "refundId", "rail", "refund", "balanceDue"];
    let mut bare = BTreeSet::new();
    every_schema(|place, name, schema| {
        if of_payment.contains(&name) && schema.get("x-payment").is_none() {
            bare.insert(place.to_owned());
        }
    });
    assert_eq!(bare, BTreeSet::new());
}
