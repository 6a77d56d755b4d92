use std::fs;
use std::path::Path;

use crate::folder::Folder;
use crate::karwan::{call, karwan, root};

/// Emits into the folder and answers what was said, without the folder's own name.
#[track_caller]
fn emit(folder: &Folder) -> String {
    let answer = call(&["catalog", "emit", "--out", "catalog"]).within(folder.path()).run().exits(0);
    assert_eq!(answer.stdout, "", "files are the output");
    answer.stderr
}

fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path());
    entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
}

#[test]
fn emitting_twice_writes_nothing_the_second_time() {
    let folder = Folder::new();
    let first = emit(&folder);
    let files = count(&folder.at("catalog"));
    assert!(files > 180 + 6, "schemas, topics and policies: {files}");
    assert_eq!(first, format!("catalog: {files} files, {files} written, 0 removed\n"));
    assert_eq!(emit(&folder), format!("catalog: {files} files, 0 written, 0 removed\n"));
}

#[test]
fn a_changed_file_is_restored_and_a_stale_one_removed() {
    let folder = Folder::with_catalogue();
    let topics = folder.read("catalog/panorama/topics.json");
    folder.write("catalog/panorama/topics.json", "{}");
    folder.write("catalog/panorama/event-schemas/reservation/reservation/forgotten/v1.json", "{}");
    let said = emit(&folder);
    assert!(said.ends_with(" files, 1 written, 1 removed\n"), "{said}");
    assert_eq!(folder.read("catalog/panorama/topics.json"), topics);
    assert!(!folder.at("catalog/panorama/event-schemas/reservation/reservation/forgotten/v1.json").exists());
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = Folder::with_catalogue();
    let foreign = ["catalog/README.md", "catalog/melmastoon/openapi.json", "catalog/other/event-schemas/a.json"];
    for file in foreign {
        folder.write(file, "theirs");
    }
    assert!(emit(&folder).ends_with(" files, 0 written, 0 removed\n"));
    for file in foreign {
        assert_eq!(folder.read(file), b"theirs", "{file}");
    }
}

#[test]
fn a_folder_that_is_no_catalogue_is_never_emptied() {
    let folder = Folder::new();
    folder.write("catalog/melmastoon/samples/notes.json", "mine");
    let answer = call(&["catalog", "emit", "--out", "catalog"]).within(folder.path()).run().exits(65);
    assert_eq!(
        answer.stderr,
        "error: catalog/melmastoon holds something else than a catalogue; emit to a folder of its own\n"
    );
    assert_eq!(count(folder.path()), 1);
    assert_eq!(folder.read("catalog/melmastoon/samples/notes.json"), b"mine");
}

#[test]
fn no_half_written_file_stays_behind() {
    let folder = Folder::with_catalogue();
    let parts = |name: &str| name.ends_with(".part");
    let names = fs::read_dir(folder.at("catalog/panorama")).expect("a folder");
    let names: Vec<String> =
        names.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    assert!(names.contains(&"topics.json".to_owned()) && !names.iter().any(|name| parts(name)), "{names:?}");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    karwan(&["catalog", "emit", "--out", &file]).exits(1).says("error: cannot make").says(&file);
}

#[test]
fn the_committed_catalogue_is_what_the_types_give() {
    let folder = Folder::with_catalogue();
    for path in ["melmastoon", "learning", "panorama"] {
        for file in ["topics.json", "policy.json"] {
            let committed = fs::read(root().join(format!("catalog/{path}/{file}"))).expect("it is committed");
            assert!(
                folder.read(&format!("catalog/{path}/{file}")) == committed,
                "{path}/{file}: `karwan catalog emit`"
            );
        }
    }
}
