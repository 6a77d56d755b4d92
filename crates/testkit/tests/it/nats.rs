use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use karwan_testkit::nats::{Options, Server, find};
use karwan_testkit::{Need, nats};

/// The first line that the server says.
fn greeting(server: &Server) -> Option<String> {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(line)
}

#[test]
fn a_server_greets_with_its_version_and_jetstream() {
    let Some(server) = nats().or_skip() else { return };
    let greeting = greeting(&server).unwrap();
    let (major, minor, patch) = server.version();
    assert!(greeting.contains(&format!("\"version\":\"{major}.{minor}.{patch}\"")), "{greeting}");
    assert!(greeting.contains("\"jetstream\":true"), "{greeting}");
}

#[test]
fn a_killed_server_is_gone_and_starts_again_on_its_port() {
    let Some(server) = nats().or_skip() else { return };
    let port = server.port();
    server.kill();
    assert!(greeting(&server).is_none());
    server.start_again();
    assert_eq!(server.port(), port);
    assert!(greeting(&server).is_some());
}

#[test]
fn a_frozen_server_says_nothing_until_it_thaws() {
    let Some(server) = nats().or_skip() else { return };
    server.freeze();
    assert_eq!(greeting(&server), None);
    server.thaw();
    assert!(greeting(&server).is_some());
}

#[test]
fn a_dropped_server_leaves_nothing_behind() {
    let Some(server) = nats().or_skip() else { return };
    let (directory, pid) = (server.directory().to_owned(), server.pid().unwrap());
    drop(server);
    assert!(!directory.exists());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn options_reach_the_server() {
    let options = Options { payload_bytes_max: Some(4096), ..Options::default() };
    let Some(server) = Server::start(options).or_skip() else { return };
    assert!(greeting(&server).unwrap().contains("\"max_payload\":4096"));
}

#[test]
fn a_program_that_is_no_server_is_refused_with_the_reason() {
    let named = |name: &str| (name == "KARWAN_NATS_BIN").then(|| OsString::from("/bin/true"));
    let Need::Missing(reason) = find(named) else { panic!("/bin/true is no NATS server") };
    assert!(reason.contains("KARWAN_NATS_BIN") && reason.contains("--version printed"), "{reason}");
}

#[test]
fn what_the_test_command_could_not_install_is_said() {
    let named = |name: &str| (name == "KARWAN_NATS_BIN_MISSING").then(|| OsString::from("no network"));
    let Need::Missing(reason) = find(named) else { panic!("nothing was named") };
    assert_eq!(reason, "no network");
}
