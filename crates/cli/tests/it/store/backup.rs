use super::place::{Place, TENANT, file};
use crate::karwan::karwan;

#[test]
fn a_dump_that_was_restored_starts_a_new_life_with_effects_suspended() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    place.append(TENANT, &["pay_1", "pay_2"]);
    let said = karwan(&["backup", "--store", &place.database.url(), "--out", "app.dump"]).exits(0);
    said.prints("pg_dump --format=custom --file=app.dump").prints("karwan_owner");
    let copy = server.database();
    server.restore(copy.name(), &server.dump(place.database.name()).expect("it is dumped")).expect("it is restored");
    let restored = karwan(&["restore", "--store", &copy.url()]).exits(0);
    restored.prints("has begun").prints("to do: effects and relay are suspended");
    karwan(&["doctor", "--store", &copy.url_as(&place.login)])
        .exits(0)
        .prints("warn incarnation: incarnation ")
        .prints("effects and relay suspended");
    // Positions of the life before mean nothing here.
    karwan(&["log", "tail", "--store", &copy.url(), "--from", "1-1"]).exits(1).says("docs/errors/store-reset.md");
    let rows = karwan(&["log", "tail", "--store", &copy.url()]).exits(0);
    assert_eq!(rows.stdout.lines().count(), 2);
    karwan(&["restore", "--store", &copy.url(), "--resume", "--reason", "INC-7"]).exits(0).prints("run again");
    karwan(&["doctor", "--store", &copy.url_as(&place.login)]).exits(0).prints("ok   incarnation: incarnation ");
}

#[test]
fn the_store_itself_is_not_taken_for_a_copy_of_it() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    karwan(&["restore", "--store", &place.database.url()]).exits(1).says("no copy of it").says("--over");
    let doctor = || karwan(&["doctor", "--store", &place.database.url_as(&place.login)]).exits(0);
    doctor().prints("ok   incarnation: incarnation 1");
    karwan(&["restore", "--store", &place.database.url_as(&place.login), "--over"]).exits(1).says("karwan_maintenance");
    karwan(&["restore", "--store", &place.database.url(), "--over"]).exits(0).prints("has begun");
    doctor().prints("effects and relay suspended");
}

#[test]
fn a_copy_that_nobody_has_opened_is_named_and_can_be_resumed_at_once() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(server);
    let copy = server.database();
    server.restore(copy.name(), &server.dump(place.database.name()).expect("it is dumped")).expect("it is restored");
    let doctor = || karwan(&["doctor", "--store", &copy.url_as(&place.login)]).exits(0);
    doctor().prints("that nobody has opened");
    karwan(&["restore", "--store", &copy.url(), "--resume", "--reason", "INC-7"]).exits(0).prints("run again");
    doctor().prints("ok   incarnation: incarnation ");
}

#[test]
fn a_copy_that_is_not_there_is_told_by_its_name() {
    let (folder, _) = file();
    let target = format!("sqlite:{}", folder.name("restored.db"));
    let missing = folder.name("missing.db");
    karwan(&["restore", "--store", &target, &missing]).exits(1).says("there is no copy at").says("missing.db");
}

#[test]
fn a_database_without_a_store_is_not_restored() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    karwan(&["restore", "--store", &server.database().url()]).exits(1).says("never been migrated");
}

#[test]
fn a_file_is_copied_and_put_in_the_place_of_another() {
    let (folder, address) = file();
    let copy = folder.name("copy.db");
    karwan(&["backup", "--store", &address, "--out", &copy]).exits(0);
    karwan(&["backup", "--store", &address, "--out", &copy]).exits(1).says("exists already");
    let restored = format!("sqlite:{}", folder.name("restored.db"));
    karwan(&["restore", "--store", &restored, &copy]).exits(0);
    let end =
        |store: &str| karwan(&["log", "stats", "--store", store, "--format", "json"]).exits(0).json()["end"].clone();
    assert_ne!(end(&address), end(&restored), "a restored store is another life");
    karwan(&["doctor", "--store", &restored]).exits(0).prints("suspended");
    karwan(&["restore", "--store", &restored, "--resume", "--reason", "INC-7"]).exits(0);
    karwan(&["dlq", "actions", "--store", &restored]).exits(0).prints("resume-store").prints("INC-7");
    let healthy = karwan(&["doctor", "--store", &restored]).exits(0);
    assert!(!healthy.stdout.contains("suspended"), "{}", healthy.stdout);
}
