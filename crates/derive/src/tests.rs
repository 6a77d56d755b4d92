//! What the derive refuses, with its words. That refusal stops a build is shown on the `Event` trait.

use crate::expand;

const OK: &str =
    r#"subject = "shop.order.placed.v1", owner = "s", retention = "warm", key = "{id}", idempotency = "{id}""#;

fn refusal(source: &str) -> String {
    let input = syn::parse_str(source).expect("it is a type");
    expand(&input, &syn::parse_quote!(::karwan_registry)).expect_err("the derive refuses it").to_string()
}

/// Refuses `#[event(<attributes>)]` on a struct that is in order otherwise.
fn check(attributes: &str, expected: &str) {
    let source = format!("/// Placed.\n#[event({attributes})]\nstruct OrderPlaced {{ id: String, r#type: String }}");
    assert_eq!(refusal(&source), expected);
}

fn without(name: &str) -> String {
    OK.split(", ").filter(|attribute| !attribute.starts_with(name)).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_forgotten_is_named() {
    for name in ["subject", "owner", "retention", "key", "idempotency"] {
        check(&without(name), &format!("#[event(…)] lacks: {name}"));
    }
    check("merkle", "#[event(…)] lacks: subject, owner, retention, key, idempotency");
}

#[test]
fn a_template_names_fields_of_the_struct() {
    let with_key = |key: &str| format!("{}, key = \"{key}\"", without("key"));
    check(&with_key("{order}"), "no field `order` in this struct");
    check(&with_key("order"), "name at least one field in braces, such as \"{order_id}\"");
    check(&with_key("{id"), "a `{` without its `}`");
    check(&with_key("{{id}}"), "a `{` without its `}`");
    check(&with_key("{id}}"), "a `}` without its `{`");
    check(&with_key("id}{id}"), "a `}` without its `{`");
}

#[test]
fn a_field_that_is_a_keyword_is_named_without_its_mark() {
    let source = format!(
        "/// Placed.\n#[event({}, key = \"{{type}}\")]\nstruct OrderPlaced {{ id: String, r#type: String }}",
        without("key")
    );
    let input = syn::parse_str(&source).expect("a struct");
    let written = expand(&input, &syn::parse_quote!(::karwan_registry)).expect("in order").to_string();
    assert!(written.contains("\"{type}\"") && written.contains("self . r#type"), "{written}");
}

#[test]
fn a_subject_is_dotted_snake_case() {
    for bad in ["placed", "Shop.order.placed.v1", "shop.order placed.v1", "shop..v1", "shop.1order.v1", ""] {
        let attributes = format!("{}, subject = \"{bad}\"", without("subject"));
        check(&attributes, "a subject is dotted snake_case, such as shop.order.placed.v1");
    }
    check(&format!("{OK}, aliases(\"Till\")"), "a subject is dotted snake_case, such as shop.order.placed.v1");
}

#[test]
fn a_value_that_no_row_can_have_is_refused() {
    check(&format!("{OK}, tenancy = \"nobody\""), "one of: tenant, cross_tenant, platform");
    check(&format!("{OK}, scope = \"world\""), "one of: domain, integration");
    check(&format!("{OK}, ai_provenance = \"maybe\""), "one of: none, metadata, payload, payload_optional");
    check(&format!("{OK}, colour = \"red\""), "not an attribute of an event; see the documentation of the derive");
}

#[test]
fn the_doc_comment_tells_what_happened_and_who_decided() {
    let missing = "an event needs a doc comment: it tells what happened";
    assert_eq!(refusal(&format!("#[event({OK})] struct OrderPlaced {{ id: String }}")), missing);
    assert_eq!(refusal(&format!("///  \n#[event({OK})] struct OrderPlaced {{ id: String }}")), missing);
    let together = "`decided_here` and the words \"Decided here\" in the doc comment go together";
    check(&format!("{OK}, decided_here"), together);
    let only_words = format!("/// Placed. Decided here.\n#[event({OK})] struct OrderPlaced {{ id: String }}");
    assert_eq!(refusal(&only_words), together);
}

#[test]
fn an_event_is_a_struct_with_named_fields_in_camel_case() {
    let of = |body: &str| refusal(&format!("/// Placed.\n#[event({OK})]\n{body}"));
    assert_eq!(of("enum OrderPlaced { Once }"), "an event is a struct");
    assert_eq!(of("struct OrderPlaced(String);"), "an event is a struct with named fields");
    let kebab = of("#[serde(rename_all = \"kebab-case\")] struct OrderPlaced { id: String }");
    assert_eq!(kebab, "an event's fields are camelCase or as written");
}
