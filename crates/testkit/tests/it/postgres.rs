use karwan_testkit::postgres;
use karwan_testkit::postgres::{Options, Server};

#[test]
fn the_server_answers_as_its_superuser_and_says_its_version() {
    let Some(server) = postgres().or_skip() else { return };
    assert_eq!(server.psql("postgres", "SELECT current_user"), Ok(server.superuser().to_owned()));
    let number: u32 = server.psql("postgres", "SHOW server_version_num").unwrap().parse().unwrap();
    let (major, minor) = server.version();
    assert_eq!(number, major * 10_000 + minor);
}

#[test]
fn what_is_committed_survives_a_kill_and_what_is_not_does_not() {
    let Some(server) = Server::start(Options::default()).or_skip() else { return };
    let database = server.database();
    database.psql("CREATE TABLE kept (value int); INSERT INTO kept VALUES (1)").unwrap();
    let port = server.port();
    server.kill();
    assert!(database.psql("SELECT 1").is_err());
    server.start_again();
    assert_eq!(server.port(), port);
    assert_eq!(database.psql("SELECT value FROM kept"), Ok("1".to_owned()));
    assert!(server.log().contains("database system was not properly shut down"), "{}", server.log());
}
