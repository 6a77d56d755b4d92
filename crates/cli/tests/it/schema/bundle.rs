use serde_json::json;

use crate::folder::Folder;
use crate::karwan::karwan;

#[test]
fn a_bundle_holds_every_schema_topic_and_policy_under_one_digest() {
    let folder = Folder::new();
    let file = folder.name("bundle.json");
    let answer = karwan(&["schema", "bundle", "--out", &file]).exits(0);
    let bytes = folder.read("bundle.json");
    assert_eq!((answer.stdout.as_str(), answer.stderr), ("", format!("{file}: {} bytes\n", bytes.len())));
    let bundle: serde_json::Value = serde_json::from_slice(&bytes).expect("a bundle is JSON");
    assert_eq!(bundle["bundle"], 1);
    assert_eq!(bundle["digest"].as_str().map(str::len), Some(64));
    let files = bundle["files"].as_object().expect("files by path");
    assert!(files.contains_key("melmastoon/topics.json") && files.contains_key("panorama/policy.json"));
    assert!(files.contains_key("learning/event-schemas/authoring/course_draft/published/v1.json"));
    assert!(!files.keys().any(|path| path.contains("/samples/")), "samples stay behind");
}

#[test]
fn the_same_catalogue_gives_the_same_bytes() {
    let folder = Folder::with_catalogue();
    let (one, two) = (folder.name("one.json"), folder.name("two.json"));
    karwan(&["schema", "bundle", "--out", &one]).exits(0);
    karwan(&["schema", "bundle", "--out", &two, "--catalog", &folder.name("catalog")]).exits(0);
    assert!(folder.read("one.json") == folder.read("two.json"));
}

#[test]
fn a_bundle_that_was_changed_is_refused() {
    let folder = Folder::new();
    let file = folder.name("bundle.json");
    karwan(&["schema", "bundle", "--out", &file]).exits(0);
    folder.edit("bundle.json", |bundle| bundle["files"]["panorama/policy.json"]["narrowingForbidden"] = json!(true));
    let answer = karwan(&["schema", "gate", "--base", &file]).exits(65);
    answer.says("is neither a folder nor a bundle").says("the file was changed after it was built");
}

#[test]
fn a_bundle_of_another_version_is_refused() {
    let folder = Folder::new();
    let file = folder.name("bundle.json");
    karwan(&["schema", "bundle", "--out", &file]).exits(0);
    folder.edit("bundle.json", |bundle| bundle["bundle"] = json!(2));
    karwan(&["schema", "gate", "--base", &file]).exits(65).says("a bundle of version 2; this program reads version 1");
}

#[test]
fn a_catalogue_with_broken_json_is_not_bundled() {
    let folder = Folder::with_catalogue();
    folder.write("catalog/panorama/topics.json", "{\"platform\": ");
    let (out, catalog) = (folder.name("out.json"), folder.name("catalog"));
    let answer = karwan(&["schema", "bundle", "--out", &out, "--catalog", &catalog]).exits(65);
    answer.says("panorama/topics.json is not strict JSON").says("(json-truncated)");
    assert!(!folder.at("out.json").exists());
}
