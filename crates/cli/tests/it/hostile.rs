//! What nobody should send, and somebody will. Every answer names the place and the rule; every call has bounded memory
//! and processor time (`karwan.rs`), and none panics.

use std::fs;

use crate::folder::Folder;
use crate::karwan::{Answer, call};
use crate::samples;

/// A bad document, the rule that it breaks as an envelope, and the one that it breaks as a schema.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    envelope: &'static str,
    schema: &'static str,
}

fn case(name: &'static str, bytes: impl Into<Vec<u8>>, rule: &'static str) -> Case {
    Case { name, bytes: bytes.into(), envelope: rule, schema: rule }
}

const DEEP: usize = 10_000;
const LARGE: usize = 50 << 20;

fn cases() -> Vec<Case> {
    let mut in_a_string = br#"{"id": "caf"#.to_vec();
    in_a_string.extend([0xe9, b'"', b'}']);
    let mut large = br#"{"description": ""#.to_vec();
    large.resize(LARGE, b'x');
    large.extend(br#""}"#);
    vec![
        case("an empty file", "", "json-truncated"),
        case("garbage", (0..=255u8).rev().cycle().take(4096).collect::<Vec<_>>(), "json-not-utf8"),
        case("text", "hello", "json-syntax"),
        case("truncated", r#"{"payload": {"version": 1"#, "json-truncated"),
        case("two documents", "{} {}", "json-trailing"),
        case("50 MB", large, "json-too-large"),
        case("deep arrays", "[".repeat(DEEP), "json-too-deep"),
        case("deep objects", r#"{"a":"#.repeat(DEEP) + "1" + &"}".repeat(DEEP), "json-too-deep"),
        case("duplicate keys", r#"{"type": "object", "type": "string"}"#, "json-duplicate-key"),
        case("duplicate keys in other spelling", r#"{"type": 1, "\u0074ype": 2}"#, "json-duplicate-key"),
        case("invalid UTF-8", in_a_string, "json-not-utf8"),
        case("a lone surrogate", r#"{"title": "\ud800"}"#, "json-lone-surrogate"),
        case("a number past every range", r#"{"maximum": 1e999}"#, "json-number-range"),
        case("an integer past 64 bits", r#"{"maximum": 36893488147419103232}"#, "json-number-range"),
        Case { envelope: "envelope-not-an-object", ..case("a list", "[]", "not-a-schema") },
        Case { envelope: "envelope-not-an-object", ..case("null", "null", "not-a-schema") },
    ]
}

/// The answer names the rule, in a report of bounded length.
#[track_caller]
fn names(answer: &Answer, case: &Case, rule: &str) {
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert!(said.contains(&format!("({rule})")), "{}: {said:.2000}", case.name);
    assert!(said.len() < 4_000, "{}: {} bytes of report", case.name, said.len());
}

#[test]
fn envelope_validate_answers_every_bad_document_with_place_and_rule() {
    for case in cases() {
        let answer = call(&["envelope", "validate", "-"]).stdin(case.bytes.clone()).run().exits(1);
        names(&answer, &case, case.envelope);
        assert!(answer.stdout.starts_with('/'), "{}: a pointer first: {}", case.name, answer.stdout);
        assert_eq!(answer.stdout.lines().count(), 1, "{}", case.name);
    }
}

#[test]
fn envelope_convert_answers_every_bad_document_with_place_and_rule() {
    for case in cases() {
        let convert = ["envelope", "convert", "--from", "learning", "--to", "cloudevents"];
        let answer = call(&convert).stdin(case.bytes.clone()).run().exits(65);
        names(&answer, &case, case.envelope);
        assert_eq!(answer.stdout, "", "{}", case.name);
    }
}

#[test]
fn schema_hash_answers_every_bad_document_with_place_and_rule() {
    for case in cases() {
        let answer = call(&["schema", "hash", "-"]).stdin(case.bytes.clone()).run().exits(65);
        names(&answer, &case, case.schema);
        assert_eq!(answer.stdout, "", "{}", case.name);
    }
}

#[test]
fn schema_diff_answers_every_bad_document_on_either_side() {
    let folder = Folder::new();
    folder.write("good.json", "{}");
    for case in cases() {
        folder.write("bad.json", &case.bytes);
        for pair in [["bad.json", "good.json"], ["good.json", "bad.json"]] {
            let answer = call(&["schema", "diff", pair[0], pair[1]]).within(folder.path()).run().exits(65);
            names(&answer, &case, case.schema);
            assert!(answer.stderr.contains("bad.json"), "{}: {}", case.name, answer.stderr);
        }
    }
}

#[test]
fn schema_gate_refuses_every_bad_document_as_a_bundle() {
    let folder = Folder::new();
    for case in cases() {
        folder.write("bad.json", &case.bytes);
        let answer = call(&["schema", "gate", "--base", "bad.json"]).within(folder.path()).run().exits(65);
        // A bundle may be larger than a schema, and what is no object is no bundle.
        let is_json = ["json-too-large", "not-a-schema"].contains(&case.schema);
        assert!(answer.stderr.contains("bad.json is neither a folder nor a bundle"), "{}", answer.stderr);
        if is_json {
            assert!(answer.stderr.contains("not a schema bundle of version 1"), "{}: {}", case.name, answer.stderr);
        } else {
            names(&answer, &case, case.schema);
        }
    }
}

/// As the list of topics, as the policy, as a schema and as a sample.
#[test]
fn catalog_check_finds_every_bad_document_wherever_it_lies() {
    let folder = Folder::with_catalogue();
    let places = [
        "panorama/topics.json",
        "learning/policy.json",
        "melmastoon/event-schemas/iam/user/created/v1.json",
        "melmastoon/samples/envelopes/lock-ce/sample.json",
        "melmastoon/samples/payloads/melmastoon.lock_integration.device.online.v1.json",
    ];
    for case in cases().into_iter().filter(|case| case.schema.starts_with("json-")) {
        for place in places {
            folder.write(&format!("catalog/{place}"), &case.bytes);
        }
        let answer = call(&["catalog", "check", "--catalog", "catalog"]).within(folder.path()).run().exits(1);
        for place in places {
            let named = answer.stdout.lines().any(|line| line.contains(place) && line.contains(case.schema));
            assert!(named, "{} at {place}: {:.2000}", case.name, answer.stdout);
        }
    }
}

#[test]
fn schema_gate_names_the_file_of_a_catalogue_that_cannot_be_read() {
    let folder = Folder::with_catalogue();
    let file = "panorama/event-schemas/damage/damage/flagged/v1.json";
    for case in cases().into_iter().filter(|case| case.schema.starts_with("json-")) {
        folder.write(&format!("catalog/{file}"), &case.bytes);
        let gate = ["schema", "gate", "--base", "catalog"];
        let answer = call(&gate).within(folder.path()).run().exits(65);
        names(&answer, &case, case.schema);
        assert!(answer.stderr.contains(file), "{}: {}", case.name, answer.stderr);
    }
}

#[test]
fn an_integer_past_2_to_the_53_is_refused_in_an_envelope() {
    let sample = samples::of("melmastoon").compact();
    let document = sample.replace("\"version\":2,", "\"version\":9007199254740993,");
    assert_ne!(document, sample);
    let answer = call(&["envelope", "validate", "-"]).stdin(document).run().exits(1);
    answer.prints("/payload/version: ").prints("write it as a string (json-number-range)");
}

#[test]
fn an_unknown_field_is_named_whatever_its_name() {
    let sample = samples::of("learning").compact();
    let name = format!("evil~/\\n\\u001b[31m{}", "x".repeat(5_000));
    let document = format!("{},\"{name}\":1}}", sample.strip_suffix('}').expect("an object"));
    let answer = call(&["envelope", "validate", "-", "--profile", "learning"]).stdin(document).run().exits(1);
    assert!(answer.stdout.starts_with("/evil~0~1\\n\\u{1b}[31mxxx"), "{}", answer.stdout);
    assert!(answer.stdout.ends_with("(envelope-field-unknown)\n") && answer.stdout.len() < 300, "{}", answer.stdout);
}

#[test]
fn a_thousand_violations_are_a_bounded_report() {
    let sample = samples::of("panorama").compact();
    let more: String = (0..20_000).map(|serial| format!("\"f{serial}\":{serial},")).collect();
    let document = sample.replace("\"payload\":{", &format!("\"payload\":{{{more}"));
    let answer = call(&["envelope", "validate", "-"]).stdin(document).run().exits(1);
    assert!(answer.stdout.lines().count() <= 101, "{}", answer.stdout.lines().count());
    assert!(answer.stdout.len() < 400_000, "{} bytes", answer.stdout.len());
}

#[test]
fn references_that_lead_in_circles_are_refused_and_recursive_types_are_not() {
    let folder = Folder::new();
    folder.write(
        "circle.json",
        r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##,
    );
    folder.write("tree.json", r##"{"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}"##);
    let diff = |old: &str, new: &str| call(&["schema", "diff", old, new]).within(folder.path()).run();
    diff("circle.json", "tree.json").exits(65).says("circle.json: the old schema").says("(reference-loop)");
    diff("tree.json", "circle.json").exits(65).says("circle.json: the new schema").says("(reference-loop)");
    assert_eq!(diff("tree.json", "tree.json").exits(0).stdout, "verdict: identical\n");
}

#[test]
fn references_that_leave_the_document_are_refused() {
    let folder = Folder::new();
    folder.write("far.json", r#"{"properties": {"a": {"$ref": "https://example.com/a.json"}}}"#);
    let answer = call(&["schema", "diff", "far.json", "far.json"]).within(folder.path()).run().exits(65);
    answer.says("/properties/a").says("(remote-reference)");
}

/// Every union doubles the alternatives; the gate says that it does not decide, and ends.
#[test]
fn unions_that_multiply_are_answered_in_bounded_time() {
    let union = |last: &str| {
        let one = format!(r#"{{"oneOf": [{{"minimum": 1}}, {{"maximum": {last}}}]}}"#);
        format!(r#"{{"allOf": [{}]}}"#, vec![one; 60].join(","))
    };
    let folder = Folder::new();
    folder.write("old.json", union("5"));
    folder.write("new.json", union("6"));
    let answer = call(&["schema", "diff", "old.json", "new.json"]).within(folder.path()).run();
    assert!([Some(1), Some(2), Some(65)].contains(&answer.code), "{answer:?}");
}

#[test]
fn a_folder_a_missing_file_and_an_unreadable_one_are_named() {
    let folder = Folder::new();
    folder.write("good.json", "{}");
    fs::create_dir(folder.at("folder")).expect("the folder is ours");
    folder.write("locked.json", "{}");
    let mut bad = vec!["folder", "missing.json"];
    let mut permissions = fs::metadata(folder.at("locked.json")).expect("it was written").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o000);
    fs::set_permissions(folder.at("locked.json"), permissions).expect("the file is ours");
    // A superuser reads it all the same, and then there is nothing to refuse.
    if fs::read(folder.at("locked.json")).is_err() {
        bad.push("locked.json");
    }
    let run = |args: &[&str]| call(args).within(folder.path()).run();
    for file in bad {
        for answer in [
            run(&["envelope", "validate", file]),
            run(&["envelope", "convert", "--from", "learning", "--to", "panorama", file]),
            run(&["schema", "hash", file]),
            run(&["schema", "diff", file, "good.json"]),
            run(&["schema", "diff", "good.json", file]),
        ] {
            assert_eq!(answer.stdout, "");
            let answer = answer.exits(65);
            assert!(answer.stderr.starts_with(&format!("error: cannot read {file}\n  ")), "{}", answer.stderr);
        }
    }
    run(&["catalog", "check", "--catalog", "missing"]).exits(65).says("cannot read the folder missing");
    run(&["catalog", "check", "--catalog", "good.json"]).exits(65).says("cannot read the folder good.json");
    run(&["schema", "gate", "--base", "missing"]).exits(65).says("cannot read missing");
    run(&["schema", "gate", "--base", "folder"]).exits(65).says("folder is not a catalogue");
}

#[test]
fn an_input_without_end_is_not_read_to_its_end() {
    let folder = Folder::new();
    let run = |args: &[&str]| call(args).within(folder.path()).run().exits(65);
    run(&["envelope", "validate", "/dev/zero"]).says("error: /dev/zero has more than 67108864 bytes");
    run(&["schema", "hash", "/dev/zero"]).says("error: /dev/zero has more than 67108864 bytes");
}

#[test]
fn a_folder_that_is_far_too_deep_for_a_catalogue_is_refused() {
    let folder = Folder::new();
    fs::create_dir_all(folder.at(&vec!["d"; 40].join("/"))).expect("the folder is ours");
    let answer = call(&["catalog", "check", "--catalog", "."]).within(folder.path()).run().exits(65);
    answer.says("is nested deeper than 16 folders");
}
