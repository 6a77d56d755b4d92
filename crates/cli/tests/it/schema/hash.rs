use crate::folder::Folder;
use crate::karwan::{call, karwan};

#[track_caller]
fn hash(document: &str) -> String {
    let answer = call(&["schema", "hash", "-"]).stdin(document).run().exits(0);
    assert_eq!(answer.stderr, "");
    answer.stdout
}

#[test]
fn the_hash_is_sha256_over_canonical_json() {
    // SHA-256 of the two bytes `{}`.
    assert_eq!(hash("{}"), "sha256-44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n");
}

#[test]
fn order_and_white_space_do_not_count_and_content_does() {
    assert_eq!(hash(r#"{"a":1,"b":true}"#), hash("{ \"b\": true,\n \"a\": 1.0 }"));
    assert_ne!(hash(r#"{"a":1}"#), hash(r#"{"a":2}"#));
}

#[test]
fn a_committed_schema_has_the_hash_that_its_uri_names() {
    let shown = karwan(&["catalog", "show", "panorama.damage.flagged", "--format", "json"]).exits(0).json();
    let folder = Folder::new();
    let file = folder.write("schema.json", shown["schema"].to_string());
    let hash = karwan(&["schema", "hash", &file]).exits(0).stdout;
    let uri = shown["topic"]["schemaUri"].as_str().expect("a text");
    assert!(uri.ends_with(&format!("#{}", hash.trim())), "{uri} {hash}");
}

#[test]
fn what_is_no_schema_has_no_hash() {
    let answer = call(&["schema", "hash", "-"]).stdin("[1]").run().exits(65);
    answer.says("a schema is an object or a boolean (not-a-schema)");
}

#[test]
fn a_number_that_canonical_json_rounds_is_refused_with_its_place() {
    let answer = call(&["schema", "hash", "-"]).stdin(r#"{"maximum": 9007199254740993}"#).run().exits(65);
    answer.says("/maximum: the number 9007199254740993 is rounded by canonical JSON");
}
