use serde_json::{Value, json};

use crate::folder::Folder;
use crate::karwan::{Answer, call};

const APPROVED: &str = "panorama.reservation.approved";
const APPROVED_SCHEMA: &str = "event-schemas/reservation/reservation/approved/v1.json";
const CONFIRMED: &str = "melmastoon.reservation.booking.confirmed.v1";
const CONFIRMED_SCHEMA: &str = "event-schemas/reservation/booking/confirmed/v1.json";

/// A catalogue to be changed, beside the untouched one that is its base.
struct Change {
    folder: Folder,
}

impl Change {
    fn new() -> Self {
        let folder = Folder::with_catalogue();
        let base = call(&["catalog", "emit", "--out", "base"]).within(folder.path()).run();
        base.exits(0);
        Self { folder }
    }

    fn schema(self, platform: &str, file: &str, change: impl FnOnce(&mut Value)) -> Self {
        self.folder.edit(&format!("catalog/{platform}/{file}"), change);
        self
    }

    /// Puts version 2 of the confirmed booking beside version 1, with one more mandatory field.
    fn version_added(self) -> Self {
        let v2 = CONFIRMED_SCHEMA.replace("v1", "v2");
        let schema = self.folder.read(&format!("catalog/melmastoon/{CONFIRMED_SCHEMA}"));
        self.folder.write(&format!("catalog/melmastoon/{v2}"), schema);
        self.folder.edit(&format!("catalog/melmastoon/{v2}"), |schema| {
            schema["x-subject"] = json!(CONFIRMED.replace("v1", "v2"));
            schema["properties"]["loyaltyTier"] = json!({ "type": "string" });
            schema["required"].as_array_mut().expect("a list").push(json!("loyaltyTier"));
        });
        self.folder.edit("catalog/melmastoon/topics.json", |topics| {
            let rows = topics["topics"].as_array_mut().expect("a list");
            let mut row = rows.iter().find(|row| row["subject"] == CONFIRMED).expect("its row").clone();
            row["subject"] = json!(CONFIRMED.replace("v1", "v2"));
            row["version"] = json!(2);
            row["schemaFile"] = json!(v2);
            rows.push(row);
        });
        self
    }

    fn subject_removed(self, platform: &str, subject: &str) -> Self {
        self.folder.edit(&format!("catalog/{platform}/topics.json"), |topics| {
            topics["topics"].as_array_mut().expect("a list").retain(|row| row["subject"] != subject);
        });
        self
    }

    fn gate(&self, options: &[&str]) -> Answer {
        let gate = ["schema", "gate", "--base", "base", "--catalog", "catalog"];
        call(&[&gate, options].concat()).within(self.folder.path()).run()
    }
}

fn widened(schema: &mut Value) {
    let channels = schema["$defs"]["Channel"]["oneOf"].as_array_mut().expect("one branch a value");
    channels.push(json!({ "const": "travel_agent", "type": "string" }));
}

fn note_shortened(schema: &mut Value) {
    schema["properties"]["note"]["maxLength"] = json!(100);
}

#[test]
fn nothing_changed_is_identical_against_a_folder_and_against_a_bundle() {
    let change = Change::new();
    assert_eq!(change.gate(&[]).exits(0).stdout, "verdict: identical\n");
    let within = change.folder.path();
    call(&["schema", "bundle", "--out", "bundle.json"]).within(within).run().exits(0);
    let answer = call(&["schema", "gate", "--base", "bundle.json"]).within(within).run().exits(0);
    assert_eq!(answer.stdout, "verdict: identical\n");
}

#[test]
fn a_bundle_as_base_finds_what_a_folder_as_base_finds() {
    let change = Change::new().schema("panorama", APPROVED_SCHEMA, |schema| {
        schema["properties"].as_object_mut().expect("an object").remove("note");
    });
    let by_folder = change.gate(&[]).exits(1).stdout;
    call(&["schema", "bundle", "--out", "bundle.json"]).within(change.folder.path()).run().exits(0);
    let gate = ["schema", "gate", "--base", "bundle.json", "--catalog", "catalog"];
    let by_bundle = call(&gate).within(change.folder.path()).run().exits(1).stdout;
    assert_eq!(by_folder, by_bundle);
    assert!(
        by_folder.starts_with("panorama.reservation.approved\nbreaking field-forbidden at /properties/note"),
        "{by_folder}"
    );
}

#[test]
fn a_tightened_length_needs_an_audit() {
    let change = Change::new().schema("panorama", APPROVED_SCHEMA, note_shortened);
    change.gate(&[]).exits(2).prints("needs audit length-tightened").prints("verdict: needs audit");
}

/// Declared on either side: editing the row does not open the gate.
#[test]
fn an_integration_event_cannot_be_let_through_by_an_audit() {
    for side in ["base", "catalog"] {
        let change = Change::new().schema("panorama", APPROVED_SCHEMA, note_shortened);
        change.folder.edit(&format!("{side}/panorama/topics.json"), |topics| {
            let rows = topics["topics"].as_array_mut().expect("a list");
            let row = rows.iter_mut().find(|row| row["subject"] == APPROVED).expect("its row");
            row["scope"] = json!("integration");
        });
        let answer = change.gate(&[]).exits(1).prints("breaking length-tightened");
        assert!(answer.stdout.contains("its contract admits no narrowing, audited or not"), "{}", answer.stdout);
    }
}

#[test]
fn a_platform_that_forbids_narrowing_cannot_be_let_through_by_an_audit() {
    let file = "event-schemas/authoring/course_draft/published/v1.json";
    let change = Change::new().schema("learning", file, |schema| {
        schema["properties"]["draftVersion"]["maximum"] = json!(1000);
    });
    change.gate(&[]).exits(1).prints("breaking range-tightened at /properties/draftVersion");
}

#[test]
fn a_removed_subject_is_breaking() {
    let answer = Change::new().subject_removed("panorama", APPROVED).gate(&[]).exits(1);
    answer.prints("breaking subject-removed at /: `panorama.reservation.approved` is gone");
}

#[test]
fn a_version_beside_the_old_one_is_additive_and_asks_for_the_description() {
    let answer = Change::new().version_added().gate(&[]).exits(0);
    let answer = answer.prints("note version-added at /: `melmastoon.reservation.booking.confirmed.v2` added beside");
    answer.prints("verdict: additive").says("give --description FILE to check its dual-publish entry");
}

#[test]
fn a_version_that_replaces_the_old_one_is_breaking() {
    let answer = Change::new().version_added().subject_removed("melmastoon", CONFIRMED).gate(&[]).exits(1);
    answer.prints("is gone, `melmastoon.reservation.booking.confirmed.v2` remains");
}

#[test]
fn a_version_is_announced_in_the_description_of_the_change() {
    let change = Change::new().version_added();
    change.folder.write("silent.md", "Adds the loyalty tier.");
    change.gate(&["--description", "silent.md"]).exits(1).prints("breaking dual-publish-entry-missing at /");
    change.folder.write("told.md", format!("* {} Dual-publish until July.", CONFIRMED.replace("v1", "v2")));
    let answer = change.gate(&["--description", "told.md"]).exits(0);
    assert_eq!(answer.stderr, "");
}

#[test]
fn a_widened_enum_needs_a_line_in_the_changelog_of_events() {
    let change = Change::new().schema("melmastoon", CONFIRMED_SCHEMA, widened);
    change.gate(&[]).exits(1).prints("breaking changelog-entry-missing at /");
    change.folder.write("CHANGELOG.events.md", format!("- {CONFIRMED}: bookings by travel agents"));
    change.gate(&[]).exits(0).prints("note enum-widened");
    change.folder.write("other.md", "");
    change.gate(&["--changelog", "other.md"]).exits(1);
}

#[test]
fn an_override_passes_and_is_recorded() {
    let change = Change::new().subject_removed("panorama", APPROVED);
    let human = change.gate(&["--override-ticket", "INC-77"]).exits(0).stdout;
    assert!(human.ends_with("verdict: breaking, overridden by INC-77\n"), "{human}");
    let json = change.gate(&["--override-ticket", "INC-77", "--format", "json"]).exits(0).json();
    assert_eq!(json["overrideTicket"], "INC-77");
    change.gate(&["--override-ticket", "soon"]).exits(64);
}

#[test]
fn json_names_subject_file_rule_and_remedy() {
    let change = Change::new().schema("panorama", APPROVED_SCHEMA, note_shortened);
    let report = change.gate(&["--format", "json"]).exits(2).json();
    assert_eq!(report["verdict"], "needsAudit");
    let section = &report["sections"][0];
    assert_eq!(section["subject"], APPROVED);
    assert_eq!(section["file"], format!("catalog/panorama/{APPROVED_SCHEMA}"));
    let finding = &section["findings"][0];
    assert_eq!((&finding["rule"], &finding["severity"]), (&json!("length-tightened"), &json!("audit")));
    assert_eq!(finding["pointer"], "/properties/note/maxLength");
    assert!(finding["remedy"].as_str().is_some_and(|remedy| remedy.starts_with("audit at least the last 30 days")));
}

#[test]
fn github_annotations_point_at_the_schema_s_file() {
    let change = Change::new().schema("panorama", APPROVED_SCHEMA, note_shortened);
    let answer = change.gate(&["--format", "github"]).exits(2);
    let expected = format!("::warning file=catalog/panorama/{APPROVED_SCHEMA},title=length-tightened::{APPROVED} ");
    assert!(answer.stdout.starts_with(&expected), "{}", answer.stdout);
}

#[test]
fn without_a_catalogue_the_compiled_in_one_is_judged() {
    let change = Change::new();
    change.folder.edit("base/panorama/topics.json", |topics| {
        let rows = topics["topics"].as_array_mut().expect("a list");
        let mut row = rows[0].clone();
        row["subject"] = json!("panorama.damage.repaired");
        rows.push(row);
    });
    let answer = call(&["schema", "gate", "--base", "base"]).within(change.folder.path()).run().exits(1);
    answer.prints("`panorama.damage.repaired` is gone");
}

#[test]
fn a_schema_that_cannot_be_judged_is_named_with_subject_place_and_rule() {
    let change = Change::new().schema("panorama", APPROVED_SCHEMA, |schema| *schema = json!({ "$ref": "#/$defs/no" }));
    let answer = change.gate(&[]).exits(65);
    let answer = answer.says("error: catalog: panorama.reservation.approved, the new schema cannot be judged");
    answer.says("(unresolved-reference)");
}

#[test]
fn a_base_that_is_no_catalogue_is_refused() {
    let change = Change::new();
    change.folder.write("empty/readme.txt", "");
    let answer = call(&["schema", "gate", "--base", "empty"]).within(change.folder.path()).run().exits(65);
    answer.says("error: empty is not a catalogue").says("no platform has topics here");
}
