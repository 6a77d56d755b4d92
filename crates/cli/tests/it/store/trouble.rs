//! What goes wrong between a person and a store: each answer names the cause and what helps.

use super::place::Place;
use crate::folder::Folder;
use crate::karwan::karwan;

const VERBS: [&[&str]; 3] = [&["log", "tail"], &["log", "stats"], &["doctor"]];

#[track_caller]
fn check(url: &str, said: &[&str]) {
    for verb in VERBS {
        let answer = karwan(&[verb, &["--store", url]].concat());
        assert_eq!(answer.code, Some(1), "{verb:?}: {answer:?}");
        for text in said {
            let printed = format!("{}{}", answer.stdout, answer.stderr);
            assert!(printed.contains(text), "{verb:?}: no `{text}` in {printed}");
        }
    }
}

#[test]
fn a_server_that_is_not_there() {
    check(
        "postgres://app@127.0.0.1:1/app",
        &[
            "postgres://app@127.0.0.1:1/app cannot be reached (docs/errors/store-unreachable.md)",
            "help: check host, port",
        ],
    );
}

#[test]
fn a_login_and_a_database_that_do_not_exist() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    check(&database.url_as("nobody_here"), &["role \"nobody_here\" does not exist", "CREATE ROLE"]);
    let nowhere = server.url("nowhere", server.superuser());
    check(&nowhere, &["database \"nowhere\" does not exist", "CREATE DATABASE"]);
}

#[test]
fn a_store_that_was_never_migrated() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    check(&server.database().url(), &["never been migrated", "karwan migrate --store"]);
    let folder = Folder::new();
    check(&format!("sqlite:{}", folder.name("none.db")), &["never been migrated"]);
}

#[test]
fn a_login_that_lacks_its_roles() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    let bare = format!("bare_{}", place.database.name());
    place.database.psql(&format!("CREATE ROLE {bare} LOGIN")).expect("a superuser may");
    check(&place.database.url_as(&bare), &["docs/errors/store-permission.md", "karwan migrate --grant"]);
}

#[test]
fn a_store_of_a_newer_program() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.database.psql("UPDATE karwan.meta SET schema = 99, admits_from = 99").expect("a superuser may");
    check(&place.url(), &["schema 99", "use a newer program"]);
}

#[test]
fn a_file_that_is_no_store() {
    let folder = Folder::new();
    let path = folder.write("letter.txt", "Dear Zarghuna, ".repeat(1000));
    check(&format!("sqlite:{path}"), &["letter.txt"]);
}
