//! The emitted schemas against the document's interfaces.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::document;
use crate::shape::{documented, emitted};

fn schema_of(subject: &str) -> Value {
    let event = learning::events().into_iter().find(|event| (event.row)().subject == subject);
    (event.unwrap_or_else(|| panic!("no event {subject}")).schema)()
}

/// Calls `visit` with the name and the schema of every property, at any depth, and with every other schema unnamed.
fn walk(name: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    visit(name, schema);
    for (name, of) in schema["properties"].as_object().into_iter().flatten() {
        walk(name, of, visit);
    }
    for keyword in ["$defs", "patternProperties"] {
        for (_, of) in schema[keyword].as_object().into_iter().flatten() {
            walk("", of, visit);
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        for of in schema[keyword].as_array().into_iter().flatten() {
            walk("", of, visit);
        }
    }
    if schema.get("items").is_some() {
        walk("", &schema["items"], visit);
    }
}

fn check_properties(subject: &str, definition: &str, expected: Expect) {
    let schema = schema_of(subject);
    let found = &schema["$defs"][definition];
    let branches = found["oneOf"].as_array().cloned().unwrap_or_else(|| vec![found.clone()]);
    let text: Vec<String> = branches
        .iter()
        .map(|branch| {
            let required = branch["required"].as_array().cloned().unwrap_or_default();
            let names = branch["properties"].as_object().unwrap().keys();
            let marked = names.map(|name| {
                let mark = if required.contains(&name.as_str().into()) { "" } else { "?" };
                let fixed = branch["properties"][name]["const"].as_str().map(|text| format!("={text}"));
                format!("{name}{mark}{}", fixed.unwrap_or_default())
            });
            marked.collect::<BTreeSet<String>>().into_iter().collect::<Vec<String>>().join(" ")
        })
        .collect();
    expected.assert_eq(&text.join("\n"));
}

/// R-040: names, optionality, literal unions, lists and nested objects of every row.
#[test]
fn every_payload_has_exactly_the_fields_of_its_interface() {
    let mut compared = 0;
    for row in document::rows() {
        let schema = schema_of(row.subject);
        assert_eq!(emitted(&schema, &schema), documented(&row.payload), "{}", row.subject);
        compared += 1;
    }
    assert_eq!(compared, 73);
}

/// R-031 can only hold where the payload names the tenant.
#[test]
fn tenant_is_in_the_payload_wherever_the_interface_names_it() {
    let without: Vec<String> = learning::events()
        .iter()
        .filter(|event| (event.schema)()["properties"].get("tenantId").is_none())
        .map(|event| (event.row)().subject)
        .collect();
    assert_eq!(
        without,
        ["identity.user.registered.v1", "identity.session.revoked.v1", "identity.password.reset_requested.v1"]
    );
}

/// C-29: an integer, where the envelope's own money is a string.
#[test]
fn money_is_an_integer_of_micro_units_with_a_currency() {
    let schema = schema_of("billing.payment.succeeded.v1");
    let amount = &schema["$defs"]["Money"]["properties"]["amountMicro"];
    assert_eq!(amount["type"], "integer");
    assert_eq!(amount["maximum"], 9_007_199_254_740_991_u64);
    check_properties("billing.payment.succeeded.v1", "Money", expect!["amountMicro currency"]);
}

#[test]
fn a_statement_is_about_an_activity_or_another_statement() {
    check_properties(
        "progress.statement.recorded.v1",
        "StatementObject",
        expect![[r#"
        definition? id objectType=Activity
        id objectType=StatementRef"#]],
    );
    check_properties("progress.statement.recorded.v1", "Actor", expect!["account name? objectType"]);
    check_properties("progress.statement.recorded.v1", "Verb", expect!["display? id"]);
}

#[test]
fn every_text_list_and_object_is_bounded() {
    for event in learning::events() {
        let subject = (event.row)().subject;
        walk("", &(event.schema)(), &mut |name, schema| {
            let has = |keyword: &str| schema.get(keyword).is_some();
            let bounded = match schema["type"].as_str() {
                Some("string") => {
                    has("maxLength") || has("pattern") || has("const") || has("enum") || schema["format"] == "date-time"
                }
                Some("array") => has("maxItems"),
                Some("object") => schema["additionalProperties"] == false,
                Some(_) => true,
                // Only the union of enums, references and tagged variants goes without a type.
                None => has("$ref") || has("oneOf"),
            };
            assert!(bounded, "{subject}: `{name}` has no bound: {schema}");
        });
    }
}

/// U-31: the inventory of personal data, by class. A field is personal data wherever it appears, or nowhere.
#[test]
fn personal_data_is_annotated() {
    let mut classes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut bare = BTreeSet::new();
    for event in learning::events() {
        let mut schema = (event.schema)();
        // A type of the envelope's, not of this platform.
        if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
            definitions.remove("AiProvenance");
        }
        walk("", &schema, &mut |name, schema| {
            if let Some(class) = schema["x-pii"].as_str() {
                classes.entry(class.to_owned()).or_default().insert(name.to_owned());
            } else if schema.get("$ref").is_none() {
                // References are left out: a reason out of a fixed set is not personal, one in free text may be.
                bare.insert(name.to_owned());
            }
        });
    }
    let sometimes: Vec<&String> = classes.values().flatten().filter(|name| bare.contains(*name)).collect();
    assert!(sometimes.is_empty(), "annotated here and not there: {sometimes:?}");
    let lines = classes
        .iter()
        .map(|(class, names)| format!("{class}: {}\n", names.iter().cloned().collect::<Vec<String>>().join(" ")));
    expect![[r#"
        contact: email primaryEmail
        free_text: narrative promptExcerpt rationale reason response
        identifier: actor approvedBy assignedBy assigneeUserId buyerUserId by createdBy deviceId fingerprint invitedBy name publishedBy resolvedBy reviewedBy subjectUserId userId
        name: name
        network: ip ua
    "#]].assert_eq(&lines.collect::<String>());
}
