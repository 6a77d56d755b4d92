//! What the planner makes of the flush: the functions keep their plans, also those that were made when a table was empty.

use karwan_store::{Address, migrate};
use karwan_testkit::postgres::postgres;

use super::Fixture;
use crate::shop::{catalogue, kinds};

/// How a flush finds documents and effects, in a database without a row: its own statement, where that is not generated.
fn plans(fixture: &Fixture) -> String {
    let flush = include_str!("../../../src/postgres/schema/functions.sql");
    let settles = flush.find("UPDATE karwan.effect e SET state = 'done'").expect("the flush settles effects");
    let (settle, _) = flush[settles..].split_once(';').expect("a statement ends");
    let settle = settle.replace("p_settled_tenant", "$1").replace("p_settled", "$2");
    let explained = format!(
        "SET ROLE karwan_owner; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
        SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
        PREPARE put (uuid, text) AS SELECT version FROM karwan.doc_order WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE;
        PREPARE puts (uuid[], text[]) AS UPDATE karwan.doc_counter d SET version = 2 FROM generate_series(1, 3) AS k
            WHERE d.tenant_id = $1[k] AND d.id = $2[k] AND d.version = 1;
        PREPARE settle (uuid[], uuid[]) AS {settle};
        EXPLAIN EXECUTE put (NULL, NULL); EXPLAIN EXECUTE puts (NULL, NULL); EXPLAIN EXECUTE settle (NULL, NULL)"
    );
    fixture.database.psql(&explained).unwrap()
}

#[tokio::test]
async fn a_document_and_an_effect_are_found_by_their_keys_also_where_there_is_none_yet() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let plans = plans(&fixture);
    assert!(plans.contains("Index Scan using docp_order"), "{plans}");
    assert!(plans.contains("Index Scan using docp_counter"), "{plans}");
    assert!(plans.contains("Index Scan using effect_pkey"), "{plans}");
}

/// As `karwan.highest` asks, in a log without a row: a plan that sorts would be kept, and read all of it later.
#[tokio::test]
async fn the_end_of_the_log_is_found_from_its_end_also_where_it_is_empty_yet() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let asked = "SELECT seq FROM karwan.log ORDER BY seq DESC LIMIT 1";
    assert!(
        include_str!("../../../src/postgres/schema/functions.sql")
            .contains(&asked.replace("seq FROM", "seq INTO top FROM"))
    );
    let settings = "SELECT array_to_string(proconfig, ';') FROM pg_proc WHERE oid = 'karwan.highest()'::regprocedure";
    let settings = fixture.database.psql(settings).unwrap();
    let set: String = settings.trim().split(';').map(|it| format!("SET {it};")).collect();
    let plan = fixture.database.psql(&format!("SET ROLE karwan_owner; {set} EXPLAIN {asked}")).unwrap();
    assert!(
        plan.contains("Index Only Scan Backward") && !plan.contains("Sort") && !plan.contains("Seq Scan"),
        "{plan}"
    );
}

#[tokio::test]
async fn a_store_of_the_schema_before_gets_the_policies_of_this_one() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let policies = "SELECT string_agg(DISTINCT qual || coalesce(with_check, ''), ',') FROM pg_policies WHERE policyname LIKE '%\\_of\\_flush'";
    let new = fixture.database.psql(policies).unwrap();
    let old = "tenant_id = ANY ((SELECT current_setting('app.tenants', true)::uuid[])::uuid[])";
    for table in ["doc_order", "effect"] {
        let policy = format!("ALTER POLICY {table}_of_flush ON karwan.{table} USING ({old}) WITH CHECK ({old})");
        fixture.database.psql(&policy).unwrap();
    }
    fixture.database.psql("UPDATE karwan.meta SET schema = 2").unwrap();
    assert!(!plans(&fixture).contains("docp_order"), "the old policy hides the key");
    let address: Address = fixture.database.url().parse().unwrap();
    migrate(&address, &[&catalogue()], &kinds(), &|_, _, _| {}).await.unwrap();
    assert_eq!(fixture.database.psql(policies).unwrap(), new);
}
