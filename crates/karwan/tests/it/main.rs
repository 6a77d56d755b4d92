//! The façade as a stranger uses it: the examples run, and what tests of one's own need works.

#[path = "../../../../examples/01-hello/main.rs"]
mod hello;
mod list;
#[path = "../../../../examples/02-own-tables/main.rs"]
#[expect(dead_code, reason = "its address comes from the test, not from the command line")]
mod own_tables;

#[test]
fn the_first_example_runs_and_fits_a_screen() {
    hello::main().expect("it runs");
    assert!(include_str!("../../../../examples/01-hello/main.rs").lines().count() < 80);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_with_own_tables_runs_and_a_second_time_changes_nothing() {
    let Some(server) = karwan_testkit::postgres().or_skip() else { return };
    let database = server.database();
    for _ in 0..2 {
        assert_eq!(own_tables::run(&database.url()).await.expect("it runs"), 7);
        let rows = "SELECT (SELECT count(*) FROM sale), (SELECT count(*) FROM karwan.log), (SELECT count(*) FROM karwan.inbox)";
        assert_eq!(database.psql(rows).expect("the tables are there"), "2|2|2");
    }
}
