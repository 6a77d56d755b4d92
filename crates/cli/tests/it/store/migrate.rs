use super::place::{SERVICE, file};
use crate::folder::Folder;
use crate::karwan::karwan;

#[test]
fn migrating_twice_does_nothing_the_second_time() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    let first = karwan(&["migrate", "--store", &database.url()]).exits(0);
    first.prints("migrated: a new store, schema 6").prints("table guard").prints("182 subjects");
    let second = karwan(&["migrate", "--store", &database.url()]).exits(0);
    assert_eq!(second.stdout, "nothing to do: schema 6\n");
}

#[test]
fn a_file_is_made_and_migrating_it_again_does_nothing() {
    let folder = Folder::new();
    let address = format!("sqlite:{}", folder.name("karwan.db"));
    karwan(&["migrate", "--store", &address]).exits(0).prints("migrated: a new store");
    let second = karwan(&["migrate", "--store", &address]).exits(0);
    assert_eq!(second.stdout, "nothing to do: schema 6\n");
}

#[test]
fn a_granted_login_may_append_the_events_of_its_service_alone() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = super::place::Place::new(server);
    place.append(super::place::TENANT, &["pay_1"]);
    let foreign = "SELECT karwan.append('0190c2f0-0000-7000-8000-000000000001', 'melmastoon.housekeeping.task.assigned.v1', 'k', 'i', '{}')";
    let refused = place.database.psql_as(&place.login, foreign).expect_err("another service's event");
    assert!(refused.contains("this login speaks for payment-gateway-service"), "{refused}");
}

#[test]
fn a_login_that_does_not_exist_is_named_with_the_remedy() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    let answer = karwan(&["migrate", "--store", &database.url(), "--grant", "nobody_at_all"]).exits(1);
    answer.says("CREATE ROLE nobody_at_all LOGIN").says("docs/errors/store-login.md");
}

#[test]
fn a_service_that_publishes_nothing_is_refused_before_anything_is_done() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    let answer = karwan(&["migrate", "--store", &database.url(), "--grant", "app=payment-gatway-service"]).exits(64);
    answer.says("payment-gatway-service").says("karwan catalog list");
    assert_eq!(database.psql("SELECT to_regnamespace('karwan') IS NULL").as_deref(), Ok("t"));
}

#[test]
fn a_file_has_no_logins() {
    let (_folder, address) = file();
    let grant = format!("app={SERVICE}");
    karwan(&["migrate", "--store", &address, "--grant", &grant]).exits(1).says("a file has no logins");
}
