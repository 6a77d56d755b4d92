use expect_test::{Expect, expect};

use crate::folder::Folder;
use crate::karwan::{Answer, call};

const OLD: &str = r#"{
    "type": "object",
    "additionalProperties": false,
    "required": ["id"],
    "properties": { "id": { "type": "string" }, "nights": { "type": "integer", "maximum": 30 } }
}"#;

fn with(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut schema = serde_json::from_str(OLD).expect("a schema is JSON");
    change(&mut schema);
    schema.to_string()
}

fn optional_field_added() -> String {
    with(|schema| schema["properties"]["note"] = serde_json::json!({ "type": "string" }))
}

fn field_removed() -> String {
    with(|schema| {
        schema["properties"].as_object_mut().expect("an object").remove("nights");
    })
}

fn range_tightened() -> String {
    with(|schema| schema["properties"]["nights"]["maximum"] = 14.into())
}

/// Compares `old.json` with `new.json` in a folder where they have these names.
fn diff(old: &str, new: &str, options: &[&str]) -> Answer {
    let folder = Folder::new();
    folder.write("old.json", old);
    folder.write("new.json", new);
    call(&[&["schema", "diff", "old.json", "new.json"], options].concat()).within(folder.path()).run()
}

#[track_caller]
fn check(new: &str, options: &[&str], code: i32, expected: Expect) {
    let answer = diff(OLD, new, options).exits(code);
    expected.assert_eq(&answer.stdout);
    assert_eq!(answer.stderr, "");
}

#[test]
fn the_same_schema_in_other_words_is_identical() {
    let rewritten = with(|schema| schema["description"] = "A booking.".into());
    check(
        &rewritten,
        &[],
        0,
        expect![[r#"
        verdict: identical
    "#]],
    );
}

#[test]
fn an_additive_change_exits_0() {
    check(
        &optional_field_added(),
        &[],
        0,
        expect![[r#"
        note field-without-default at /properties/note: `note`: no default
            give the field a `default`, so that readers of old events agree on what its absence means (new events at an old consumer; docs/rules/field-without-default.md)
        note optional-field-added at /properties/note: `note`: optional field added
            nothing to do; the content hash changes (new events at an old consumer; docs/rules/optional-field-added.md)
        verdict: additive
    "#]],
    );
}

#[test]
fn a_breaking_change_exits_1() {
    check(
        &field_removed(),
        &[],
        1,
        expect![[r#"
        breaking field-forbidden at /properties/nights: `nights`: old events that carry it are refused
            keep the old form, or ship the next version of the subject (.v<n+1>) and dual-publish both (old events under the new schema; docs/rules/field-forbidden.md)
        breaking field-removed at /properties/nights: `nights`: field removed
            keep the old form, or ship the next version of the subject (.v<n+1>) and dual-publish both (new events at an old consumer; docs/rules/field-removed.md)
        verdict: breaking
    "#]],
    );
}

#[test]
fn a_change_that_needs_an_audit_exits_2() {
    check(
        &range_tightened(),
        &[],
        2,
        expect![[r#"
        needs audit range-tightened at /properties/nights/maximum: `nights`: maximum 30 → 14
            audit at least the last 30 days of events against the new schema, or keep the old form (old events under the new schema; docs/rules/range-tightened.md)
        verdict: needs audit
    "#]],
    );
}

#[test]
fn json_of_a_breaking_change_is_stable() {
    check(
        &field_removed(),
        &["--format", "json"],
        1,
        expect![[r#"
        {
          "overrideTicket": null,
          "sections": [
            {
              "file": "new.json",
              "findings": [
                {
                  "change": "`nights`: old events that carry it are refused",
                  "direction": "replay",
                  "pointer": "/properties/nights",
                  "remedy": "keep the old form, or ship the next version of the subject (.v<n+1>) and dual-publish both",
                  "rule": "field-forbidden",
                  "severity": "breaking"
                },
                {
                  "change": "`nights`: field removed",
                  "direction": "consume",
                  "pointer": "/properties/nights",
                  "remedy": "keep the old form, or ship the next version of the subject (.v<n+1>) and dual-publish both",
                  "rule": "field-removed",
                  "severity": "breaking"
                }
              ],
              "subject": null
            }
          ],
          "verdict": "breaking"
        }
    "#]],
    );
}

#[test]
fn json_of_an_additive_change_is_stable() {
    check(
        &optional_field_added(),
        &["--format", "json"],
        0,
        expect![[r#"
        {
          "overrideTicket": null,
          "sections": [
            {
              "file": "new.json",
              "findings": [
                {
                  "change": "`note`: no default",
                  "direction": "consume",
                  "pointer": "/properties/note",
                  "remedy": "give the field a `default`, so that readers of old events agree on what its absence means",
                  "rule": "field-without-default",
                  "severity": "note"
                },
                {
                  "change": "`note`: optional field added",
                  "direction": "consume",
                  "pointer": "/properties/note",
                  "remedy": "nothing to do; the content hash changes",
                  "rule": "optional-field-added",
                  "severity": "note"
                }
              ],
              "subject": null
            }
          ],
          "verdict": "additive"
        }
    "#]],
    );
}

#[test]
fn json_of_no_change_is_stable() {
    check(
        OLD,
        &["--format", "json"],
        0,
        expect![[r#"
        {
          "overrideTicket": null,
          "sections": [
            {
              "file": "new.json",
              "findings": [],
              "subject": null
            }
          ],
          "verdict": "identical"
        }
    "#]],
    );
}

#[test]
fn github_annotations_name_file_rule_and_remedy() {
    check(
        &field_removed(),
        &["--format", "github"],
        1,
        expect![[r#"
        ::error file=new.json,title=field-forbidden::/properties/nights: `nights`: old events that carry it are refused — keep the old form, or ship the next version of the subject (.v<n+1>) and dual-publish both
        ::error file=new.json,title=field-removed::/properties/nights: `nights`: field removed — keep the old form, or ship the next version of the subject (.v<n+1>) and dual-publish both
    "#]],
    );
    check(
        &range_tightened(),
        &["--format", "github"],
        2,
        expect![[r#"
        ::warning file=new.json,title=range-tightened::/properties/nights/maximum: `nights`: maximum 30 → 14 — audit at least the last 30 days of events against the new schema, or keep the old form
    "#]],
    );
}

#[test]
fn an_override_passes_and_is_recorded_in_every_format() {
    let ticket = ["--override-ticket", "INC-1234"];
    let verdict = |answer: Answer| answer.exits(0).stdout;
    let human = verdict(diff(OLD, &field_removed(), &ticket));
    assert!(human.ends_with("verdict: breaking, overridden by INC-1234\n"), "{human}");
    let json = diff(OLD, &field_removed(), &[&ticket[..], &["--format", "json"]].concat()).exits(0).json();
    assert_eq!((&json["verdict"], &json["overrideTicket"]), (&"breaking".into(), &"INC-1234".into()));
    let github = verdict(diff(OLD, &range_tightened(), &[&ticket[..], &["--format", "github"]].concat()));
    assert!(
        github.ends_with("::notice title=override::the verdict needs audit was overridden by INC-1234\n"),
        "{github}"
    );
}

#[test]
fn an_override_that_nothing_needs_is_not_recorded() {
    let options = ["--override-ticket", "INC-1234", "--format", "json"];
    let json = diff(OLD, &optional_field_added(), &options).exits(0).json();
    assert!(json["overrideTicket"].is_null());
}

#[test]
fn a_bad_ticket_is_bad_usage() {
    for ticket in ["", "x", "ticket", "INC 1234", "INC-1234\n", &"1".repeat(65)] {
        let answer = diff(OLD, &field_removed(), &["--override-ticket", ticket]).exits(64);
        answer.says("an incident ticket such as INC-1234");
    }
}

#[test]
fn bad_input_names_the_file_the_place_and_the_rule() {
    let check = |old: &str, new: &str, expected: &str| {
        let answer = diff(old, new, &[]).exits(65);
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", expected));
    };
    check(
        "[]",
        "{}",
        "error: old.json: the old schema cannot be judged\n  at /: a schema is an object or a boolean, this is an array (not-a-schema)\n",
    );
    check(
        "{}",
        r#"{"properties": {"a": {"type": "text"}}}"#,
        "error: new.json: the new schema cannot be judged\n  at /properties/a/type: `type` must be one of the seven type names (malformed-keyword)\n",
    );
    check(
        "{}",
        r#"{"a": 1, "a": 2}"#,
        "error: new.json is not strict JSON\n  line 1, column 10: the key `a` stands twice in one object (json-duplicate-key)\n",
    );
}
