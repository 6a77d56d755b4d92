use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use karwan_testkit::postgres;
use karwan_testkit::postgres::{Options, Programs, Server, find};

fn own_server(options: Options) -> Option<Server> {
    Server::start(options).or_skip()
}

#[test]
fn the_server_answers_as_its_superuser_and_says_its_version() {
    let Some(server) = postgres().or_skip() else { return };
    assert_eq!(server.psql("postgres", "SELECT current_user"), Ok(server.superuser().to_owned()));
    let number: u32 = server.psql("postgres", "SHOW server_version_num").unwrap().parse().unwrap();
    let (major, minor) = server.version();
    assert_eq!(number, major * 10_000 + minor);
}

#[test]
fn the_tests_of_a_process_share_one_server() {
    let Some(server) = postgres().or_skip() else { return };
    let Some(again) = postgres().or_skip() else { return };
    assert_eq!(server.port(), again.port());
}

#[test]
fn fresh_databases_are_empty_and_separate() {
    let Some(server) = postgres().or_skip() else { return };
    let (one, other) = (server.database(), server.database());
    one.psql("CREATE TABLE here (value int)").unwrap();
    let tables = "SELECT count(*) FROM pg_class WHERE relname = 'here'";
    assert_eq!(one.psql(tables), Ok("1".to_owned()));
    assert_eq!(other.psql(tables), Ok("0".to_owned()));
}

#[test]
fn the_url_leads_to_the_database_over_tcp() {
    let Some(server) = postgres().or_skip() else { return };
    let database = server.database();
    database.psql("CREATE ROLE reader LOGIN").unwrap();
    let asked = "SELECT current_user || ' ' || current_database() || ' ' || host(inet_server_addr())";
    let printed = psql_at(server, &database.url_as("reader"), asked);
    assert_eq!(printed, Ok(format!("reader {} 127.0.0.1", database.name())));
}

#[test]
fn sql_stops_at_the_first_error_and_the_error_is_what_the_server_says() {
    let Some(server) = postgres().or_skip() else { return };
    let database = server.database();
    let error = database.psql("CREATE TABLE a (v int); SELECT 1/0; CREATE TABLE b (v int)").unwrap_err();
    assert!(error.contains("division by zero"), "{error}");
    assert_eq!(database.psql("SELECT to_regclass('a'), to_regclass('b')"), Ok("a|".to_owned()));
}

#[test]
fn sql_runs_as_the_user_that_is_named() {
    let Some(server) = postgres().or_skip() else { return };
    let database = server.database();
    database.psql("CREATE TABLE secret (v int); CREATE ROLE stranger LOGIN").unwrap();
    let error = database.psql_as("stranger", "SELECT * FROM secret").unwrap_err();
    assert!(error.contains("permission denied for table secret"), "{error}");
}

#[test]
fn what_is_committed_survives_a_kill_and_what_is_not_does_not() {
    let Some(server) = own_server(Options::default()) else { return };
    let database = server.database();
    database.psql("CREATE TABLE kept (value int); INSERT INTO kept VALUES (1)").unwrap();
    let mut open = psql_session(&server, &database.url());
    let pipe = open.stdin.as_mut().unwrap();
    pipe.write_all(b"BEGIN; INSERT INTO kept VALUES (2) RETURNING 'inserted';\n").unwrap();
    let mut answer = String::new();
    BufReader::new(open.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    assert_eq!(answer, "inserted\n");
    let port = server.port();

    server.kill();
    assert!(database.psql("SELECT 1").is_err());
    server.start_again();

    open.wait().unwrap();
    assert_eq!(server.port(), port);
    assert_eq!(database.psql("SELECT value FROM kept"), Ok("1".to_owned()));
    assert!(server.log().contains("database system was not properly shut down"), "{}", server.log());
}

#[test]
fn a_stopped_server_starts_again_without_recovery() {
    let Some(server) = own_server(Options::default()) else { return };
    server.stop();
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
    server.start_again();
    assert_eq!(server.psql("postgres", "SELECT 1"), Ok("1".to_owned()));
    assert!(!server.log().contains("not properly shut down"), "{}", server.log());
}

#[test]
fn settings_of_a_test_win_over_those_of_the_testkit() {
    let Some(server) = own_server(Options::default().setting("fsync", "on").setting("work_mem", "5MB")) else { return };
    let show = |name: &str| server.psql("postgres", &format!("SHOW {name}")).unwrap();
    assert_eq!([show("fsync"), show("work_mem"), show("full_page_writes")], ["on", "5MB", "off"]);
}

#[test]
fn data_lies_in_the_directory_that_is_asked_for_and_is_removed_with_the_server() {
    let directory = std::env::temp_dir().join(format!("karwan-testkit-data-{}", std::process::id()));
    let options = Options { data_directory: Some(directory.clone()), ..Options::default() };
    let Some(server) = own_server(options) else { return };
    assert_eq!(server.psql("postgres", "SHOW data_directory"), Ok(directory.display().to_string()));
    let log = server.socket_directory().to_owned();
    drop(server);
    assert!(!directory.exists() && !log.exists());
}

#[test]
fn only_a_cluster_of_its_own_has_another_identity() {
    let Some(one) = postgres().or_skip() else { return };
    let Some(copy) = own_server(Options::default()) else { return };
    let Some(own) = own_server(Options { own_cluster: true, ..Options::default() }) else { return };
    let identity = |server: &Server| server.psql("postgres", "SELECT system_identifier FROM pg_control_system()");
    assert_eq!(identity(one), identity(&copy));
    assert_ne!(identity(one), identity(&own));
}

#[test]
fn a_dump_is_restored_in_another_server() {
    let Some(from) = postgres().or_skip() else { return };
    let Some(to) = own_server(Options { own_cluster: true, ..Options::default() }) else { return };
    let (source, target) = (from.database(), to.database());
    source.psql("CREATE TABLE t (v text); INSERT INTO t VALUES ('ü'), ('ж')").unwrap();
    let dump = from.dump(source.name()).unwrap();
    to.restore(target.name(), &dump).unwrap();
    assert_eq!(target.psql("SELECT string_agg(v, ',' ORDER BY v) FROM t"), Ok("ü,ж".to_owned()));
    assert!(to.restore(target.name(), &dump).unwrap_err().contains("already exists"));
}

#[test]
fn with_tls_a_client_trusts_the_authority_and_one_without_tls_is_refused() {
    let Some(server) = own_server(Options { tls: true, ..Options::default() }) else { return };
    let url = server.url("postgres", server.superuser());
    let authority = server.authority().unwrap().display().to_string();
    let asked = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let verified = format!("{url}?sslmode=verify-full&sslrootcert={authority}");
    assert_eq!(psql_at(&server, &verified, asked), Ok("t".to_owned()));
    let refused = psql_at(&server, &format!("{url}?sslmode=disable"), asked).unwrap_err();
    assert!(refused.contains("no pg_hba.conf entry"), "{refused}");
}

#[test]
fn the_directory_that_the_environment_names_wins_and_is_not_replaced_when_it_is_wrong() {
    let nowhere = std::env::temp_dir().join("karwan-no-such-directory");
    let found = find(|name| (name == "KARWAN_POSTGRES_BIN").then(|| nowhere.clone().into()));
    let karwan_testkit::Need::Missing(reason) = found else { panic!("{found:?}") };
    assert!(reason.starts_with("KARWAN_POSTGRES_BIN: ") && reason.contains("karwan-no-such-directory"), "{reason}");
}

#[test]
fn why_the_test_command_could_not_install_is_passed_on() {
    let found = find(|name| (name == "KARWAN_POSTGRES_BIN_MISSING").then(|| "no network".into()));
    let karwan_testkit::Need::Missing(reason) = found else { panic!("{found:?}") };
    assert_eq!(reason, "no network");
}

#[test]
fn a_link_on_the_path_leads_to_the_programs_and_a_script_in_their_place_does_not() {
    let Some(programs) = find(|name| std::env::var_os(name)).or_skip() else { return };
    let scratch = std::env::temp_dir().join(format!("karwan-testkit-path-{}", std::process::id()));
    let [real, linked, scripted] = ["real", "linked", "scripted"].map(|name| {
        fs::create_dir_all(scratch.join(name)).unwrap();
        fs::canonicalize(scratch.join(name)).unwrap()
    });
    for name in ["postgres", "initdb", "psql", "pg_dump", "pg_restore"] {
        fs::copy(programs.directory.join(name), real.join(name)).unwrap();
        fs::write(scripted.join(name), "#!/bin/sh\necho postgres '(PostgreSQL)' 99.9\n").unwrap();
    }
    std::os::unix::fs::symlink(real.join("postgres"), linked.join("postgres")).unwrap();
    let path = std::env::join_paths([&scripted, &linked]).unwrap();
    let found = find(|name| (name == "PATH").then(|| path.clone())).or_skip();
    let script = Programs::in_directory(&scripted);
    fs::remove_dir_all(&scratch).unwrap();
    assert_eq!(found, Some(Programs { directory: real, version: programs.version }));
    assert!(script.unwrap_err().ends_with("postgres is a script"));
}

#[test]
fn a_server_goes_with_its_test_process_when_that_is_killed() {
    check_cleaned(|process| process.kill().unwrap());
}

#[test]
fn a_server_goes_with_its_test_process_when_that_is_interrupted() {
    check_cleaned(|process| {
        // As Ctrl-C does: to the whole process group.
        let group = format!("-{}", process.id());
        let sent = Command::new("sh").args(["-c", "kill -s INT -- \"$1\"", "sh", &group]).status().unwrap();
        assert!(sent.success());
    });
}

/// Starts a process with a server, ends it, and looks until nothing of the server is left.
fn check_cleaned(end: impl FnOnce(&mut Child)) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_throwaway_postgres"));
    program.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = program.spawn().expect("it was built");
    let mut lines = BufReader::new(process.stdout.take().expect("it was asked for")).lines();
    let (Some(Ok(url)), Some(Ok(data))) = (lines.next(), lines.next()) else {
        let mut complaint = String::new();
        process.stderr.take().expect("it was asked for").read_to_string(&mut complaint).expect("it prints text");
        process.wait().expect("it is our child");
        assert!(complaint.starts_with("no server: "), "{complaint}");
        karwan_testkit::skip::record(&complaint);
        return;
    };
    let data = PathBuf::from(data);
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/')).map(|(port, _)| port.parse::<u16>());
    let port = port.expect("a URL has a port").expect("a port is a number");
    let postmaster = fs::read_to_string(data.join("postmaster.pid")).expect("the server runs");
    let postmaster = postmaster.lines().next().expect("its number stands first").to_owned();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok() && runs(&postmaster));

    end(&mut process);
    process.wait().expect("it is our child");

    let directory = data.parent().expect("it lies in the server's directory");
    let started = Instant::now();
    while directory.exists() {
        assert!(started.elapsed() < Duration::from_secs(30), "{} is left", directory.display());
        std::thread::yield_now();
    }
    // A server without its files would end some day by itself; the watchdog ends it first.
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err() && !runs(&postmaster));
}

fn runs(pid: &str) -> bool {
    let probe = Command::new("sh").args(["-c", "kill -0 \"$1\" 2>/dev/null", "sh", pid]).status();
    probe.expect("a shell starts").success()
}

/// psql by URL, as any client would connect.
fn psql_at(server: &Server, url: &str, sql: &str) -> Result<String, String> {
    let output = Command::new(server.bin("psql"))
        .args(["-X", "-A", "-t", "-q", "-c", sql, "-d", url])
        .output()
        .expect("psql starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("psql prints text").trim().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// psql that waits for more.
fn psql_session(server: &Server, url: &str) -> Child {
    let mut psql = Command::new(server.bin("psql"));
    psql.args(["-X", "-A", "-t", "-q", "-d", url]);
    psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("psql starts")
}
