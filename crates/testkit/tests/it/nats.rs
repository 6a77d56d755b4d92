use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
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
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
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

/// A server that is too old, in a folder of the path; a script would be refused for being one.
fn too_old(folder: &Path) {
    fs::create_dir_all(folder).expect("a test needs it");
    let source = folder.join("source.rs");
    fs::write(&source, "fn main() { println!(\"nats-server: v2.9.25\"); }").expect("a test needs it");
    let compiled =
        Command::new("rustc").arg("-o").arg(folder.join("nats-server")).arg(&source).status().expect("a test needs it");
    assert!(compiled.success());
}

/// What is on the path is asked first; what is of no use there is passed over, and told where the cache has none either.
#[test]
fn a_server_on_the_path_that_is_too_old_or_does_not_run_is_passed_over_for_the_caches() {
    let Need::Met(real) = find(|name| std::env::var_os(name)) else { return drop(nats().or_skip()) };
    let folder = std::env::temp_dir().join(format!("karwan-testkit-nats-{}", std::process::id()));
    let [old, broken, cache] = ["old", "broken", "cache"].map(|name| folder.join(name));
    too_old(&old);
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("nats-server"), "not a program").unwrap();
    let found = |places: &[&Path]| {
        let path = std::env::join_paths(places).unwrap();
        find(|name| match name {
            "PATH" => Some(path.clone()),
            "KARWAN_CACHE" => Some(cache.clone().into_os_string()),
            _ => None::<OsString>,
        })
    };
    for (place, why) in
        [(&old, "is 2.9.25, which ignores `filter_subjects`; 2.10 or newer"), (&broken, "does not start")]
    {
        let Need::Missing(reason) = found(&[place]) else { panic!("there is none") };
        assert!(reason.contains(why) && reason.contains(&place.display().to_string()), "{reason}");
    }
    let installed = cache.join("tools").join("nats");
    fs::create_dir_all(&installed).unwrap();
    symlink(&real.path, installed.join("nats-server")).unwrap();
    let Need::Met(program) = found(&[&old, &broken]) else { panic!("the cache has one") };
    assert_eq!(program, real);
    let Need::Met(program) = found(&[&old, real.path.parent().unwrap()]) else { panic!("the path has one") };
    assert_eq!(program.path.file_name(), Some(OsStr::new("nats-server")));
    fs::remove_dir_all(&folder).unwrap();
}
