use std::os::unix::fs::PermissionsExt as _;

use super::place::{On, Place};
use super::{Node, pause};
use crate::folder::Folder;
use crate::karwan::karwan;

#[test]
fn a_port_that_is_taken_is_told_with_the_remedy() {
    let folder = Folder::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    let data = folder.at("data").to_str().expect("a path").to_owned();
    karwan(&["up", "--data", &data, "--port", &port])
        .exits(1)
        .says(&format!("port {port} of 127.0.0.1 is in use (docs/errors/node-port-in-use.md)"))
        .says("--port");
}

#[test]
fn a_directory_of_another_living_node_is_refused_and_of_a_dead_one_taken() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty"]);
    let data = folder.at("data").to_str().expect("a path").to_owned();
    let words = ["up", "--data", &data, "--port", "0"];
    karwan(&words).exits(1).says("another node works in").says("docs/errors/node-data-in-use.md").says("--data");
    node.karwan(&["consumer", "list"]).exits(0);
    node.kill();
    karwan(&["try", "booking", "--data", &data])
        .exits(1)
        .says("no node runs in")
        .says("docs/errors/node-not-running.md");
    assert_eq!(Node::up(&folder.at("data"), &["--empty"]).stop(), Some(0));
}

#[test]
fn a_directory_with_the_vendors_books_of_another_store_is_refused() {
    let folder = Folder::new();
    assert_eq!(Node::up(&folder.at("data"), &["--empty"]).stop(), Some(0));
    let (data, other) = (folder.name("data"), format!("sqlite:{}", folder.name("other.db")));
    let there = ["up", "--data", &data, "--port", "0", "--store", &other];
    karwan(&there)
        .exits(1)
        .says("has the vendors' books of the embedded store (docs/errors/node-data-of-other-store.md)")
        .says("--data");
    assert!(!folder.at("other.db").exists(), "nothing is made of it");
    assert_eq!(Node::up(&folder.at("data"), &["--empty"]).stop(), Some(0), "its own store is taken");
    assert_eq!(Node::up(&folder.at("other"), &["--store", &other]).stop(), Some(0));
}

#[test]
fn an_unknown_service_is_refused_with_the_names_that_exist() {
    let folder = Folder::new();
    let data = folder.at("data").to_str().expect("a path").to_owned();
    let words = ["up", "--data", &data, "--port", "0", "--services", "nonsense"];
    karwan(&words).exits(1).says("docs/errors/node-service.md").says("reservation");
}

#[test]
fn only_the_owner_can_read_the_token_and_it_goes_when_the_node_stops() {
    let folder = Folder::new();
    let node = Node::up(&folder.at("data"), &["--empty"]);
    let card = folder.at("data").join("node.json");
    let mode = std::fs::metadata(&card).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(node.stop(), Some(0));
    assert!(!card.exists());
}

#[test]
fn a_second_signal_ends_a_node_at_once() {
    let folder = Folder::new();
    let mut node = Node::up(&folder.at("data"), &["--empty"]);
    // Something under way, for which a stop waits: a connection that has begun to ask and never ends.
    let address = node.public().replace("http://", "");
    let mut stuck = std::net::TcpStream::connect(address).expect("it listens");
    std::io::Write::write_all(&mut stuck, b"POST /webhooks/v1/x HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        .expect("it is sent");
    super::signal(&node.child, "TERM");
    while !node.log.iter().any(|line| line.contains("draining")) {
        pause();
    }
    super::signal(&node.child, "TERM");
    let code = node.child.wait().expect("it ends").code();
    assert!(matches!(code, Some(143 | 0)), "{code:?}");
}

/// On both stores; an older program that a newer store still admits goes on.
#[test]
fn a_store_that_is_newer_than_the_program_is_told_with_the_remedy() {
    let folder = Folder::new();
    assert_eq!(Node::up(&folder.at("data"), &["--empty"]).stop(), Some(0));
    let data = folder.name("data");
    let meta = |sql: &str| {
        let file = rusqlite::Connection::open(folder.at("data").join("karwan.db")).expect("it opens");
        file.execute_batch(sql).expect("a shell can do that");
    };
    meta("UPDATE meta SET schema = 99, admits_from = 99");
    let refused = |words: &[&str]| {
        karwan(words)
            .exits(1)
            .says("is at schema 99, and this program knows")
            .says("use a newer program")
            .says("docs/errors/store-newer.md");
    };
    refused(&["up", "--data", &data, "--port", "0"]);
    meta("UPDATE meta SET admits_from = 1");
    assert_eq!(Node::up(&folder.at("data"), &[]).stop(), Some(0));
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let place = Place::new(On::Postgres, Some(server));
    let (database, url) = place.store.as_ref().expect("a database");
    database.psql("UPDATE karwan.meta SET schema = 99, admits_from = 99").expect("a superuser may");
    refused(&["up", "--data", &place.folder.name("data"), "--port", "0", "--store", url]);
    database.psql("UPDATE karwan.meta SET admits_from = 1").expect("a superuser may");
    assert_eq!(place.up(&[]).stop(), Some(0));
}
