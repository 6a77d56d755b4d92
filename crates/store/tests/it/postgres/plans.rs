//! What the planner makes of the flush: the functions keep their plans, also those that were made when a table was empty.

use karwan_store::{Address, migrate};
use karwan_testkit::postgres::postgres;

use super::Fixture;
use crate::shop::{catalogue, context, counter, kinds};

/// How a flush finds documents, effects, deadlines and what is parked: its own statements, where they are not generated.
fn plans(fixture: &Fixture) -> String {
    let flush = include_str!("../../../src/postgres/schema/functions.sql");
    let settle = statement(flush, "UPDATE karwan.effect e SET state = 'done'");
    let settle = settle.replace("p_settled_tenant", "$1").replace("p_settled", "$2");
    let fire = statement(flush, "DELETE FROM karwan.deadline d\n");
    let fire = fire.replace("p_fired_tenant[k]", "$1").replace("p_fired_kind[k]", "$2");
    let fire = fire.replace("p_fired_id[k]", "$3").replace("p_fired_token[k]", "$4");
    let claim = statement(flush, "INSERT INTO karwan.inbox");
    let claim = claim.replace("p_consumer", "$1").replace("p_claim_hold", "$2").replace("p_claim_event", "$3");
    let claim = claim.replace("p_claim_tenant", "$4").replace("p_claim_seq", "$5").replace("p_claim_logged", "$6");
    let claim = claim.replace("(1, n)", "(1, cardinality($3))");
    let put = "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname LIKE 'put\\_counter\\_%' LIMIT 1";
    let put = fixture.database.psql(put).unwrap();
    let put = statement(&put, "UPDATE karwan.doc_counter d");
    let found = put.split_once("FROM generate_series").expect("several are put at once").1;
    let found = found.replace("(a, z)", "(1, cardinality($1))").replace("p_action", "$4");
    let found = found.replace("p_tenant", "$1").replace("p_id", "$2").replace("p_version", "$3");
    let explained = format!(
        "SET ROLE karwan_owner; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
        SET enable_hashjoin = off; SET enable_mergejoin = off;
        PREPARE put (uuid, text) AS SELECT version FROM karwan.doc_order WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE;
        PREPARE puts (uuid[], text[], bigint[], int[]) AS UPDATE karwan.doc_counter d SET version = 2 FROM generate_series{found};
        PREPARE settle (uuid[], uuid[]) AS {settle};
        PREPARE fire (uuid, text, text, uuid) AS {fire};
        PREPARE claim (text[], int[], uuid[], uuid[], bigint[], timestamptz[]) AS {claim};
        EXPLAIN EXECUTE put (NULL, NULL); EXPLAIN EXECUTE puts (NULL, NULL, NULL, NULL);
        EXPLAIN EXECUTE settle (NULL, NULL); EXPLAIN EXECUTE fire (NULL, NULL, NULL, NULL);
        EXPLAIN EXECUTE claim (NULL, NULL, NULL, NULL, NULL, NULL)"
    );
    fixture.database.psql(&explained).unwrap()
}

/// One statement of a function.
fn statement<'a>(function: &'a str, beginning: &str) -> &'a str {
    let begins = function.find(beginning).unwrap_or_else(|| panic!("no `{beginning}` in {function}"));
    function[begins..].split_once(';').expect("a statement ends").0
}

/// Every look at a table is one at its primary key, by the whole of it.
fn are_by_key(plans: &str) {
    let conditions: Vec<&str> = plans.lines().filter(|line| line.contains("Index Cond:")).collect();
    for (table, of, column) in [
        ("docp_order", "tenant_id", "id"),
        ("docp_counter", "tenant_id", "id"),
        ("effect_pkey", "tenant_id", "id"),
        ("deadline_pkey", "tenant_id", "kind"),
        ("parked_pkey", "consumer", "event_id"),
    ] {
        assert!(plans.contains(table), "{table} in {plans}");
        let by = |line: &&&str| line.contains(&format!("{of} =")) && line.contains(&format!("({column} ="));
        assert!(conditions.iter().filter(by).count() > 0, "{table} in {plans}");
    }
    let looks = plans.lines().filter(|line| line.contains("Scan") && line.contains(" on ")).count();
    let functions = plans.matches("Function Scan").count() + plans.matches("Bitmap Heap Scan").count();
    assert_eq!((conditions.len(), looks - functions), (5, 5), "{plans}");
    assert!(!plans.contains("Join Filter") && !plans.contains("Seq Scan"), "{plans}");
}

#[tokio::test]
async fn what_a_flush_looks_for_is_found_by_its_key_also_where_there_is_none_yet() {
    let Some(server) = postgres().or_skip() else { return };
    are_by_key(&plans(&Fixture::new(server).await));
}

/// A plan that was made with these in mind is kept while the tables grow.
#[tokio::test]
async fn what_a_flush_looks_for_is_found_by_its_key_also_where_there_were_few() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    for few in [3, 60, 800] {
        let filled = format!(
            "INSERT INTO karwan.effect (tenant_id, id, seq, kind, key, slot, body, cause)
                SELECT gen_random_uuid(), gen_random_uuid(), n, 'kind', 'key', 0, '{{}}', '' FROM generate_series(1, {few}) AS n;
            INSERT INTO karwan.deadline (tenant_id, kind, id, slot, due, try_at, body, token, cause)
                SELECT gen_random_uuid(), 'kind', n || 'of' || {few}, 0, now(), now(), '{{}}', gen_random_uuid(), ''
                FROM generate_series(1, {few}) AS n;
            INSERT INTO karwan.doc_counter (tenant_id, id, version, shape)
                SELECT gen_random_uuid(), n::text, 1, 1 FROM generate_series(1, {few}) AS n;
            ANALYZE karwan.effect; ANALYZE karwan.deadline; ANALYZE karwan.doc_counter"
        );
        fixture.database.psql(&filled).unwrap();
        are_by_key(&plans(&fixture));
    }
}

/// As `karwan.highest` asks, in a log without a row: a plan that sorts would be kept, and read all of it later.
/// The functions rely on these settings of the connections that call them.
#[tokio::test]
async fn whoever_flushes_has_plans_that_are_made_once_and_go_by_keys() {
    let Some(server) = postgres().or_skip() else { return };
    let fixture = Fixture::new(server).await;
    let noting = "CREATE TABLE public.noted (said text);
        CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            INSERT INTO public.noted SELECT string_agg(current_setting(name), ' ' ORDER BY name)
                FROM unnest('{plan_cache_mode,enable_seqscan,enable_hashjoin,enable_mergejoin}'::text[]) AS name;
            RETURN NULL;
        END $$;
        CREATE TRIGGER note AFTER INSERT ON karwan.doc_counter FOR EACH ROW EXECUTE FUNCTION public.note()";
    fixture.database.psql(noting).unwrap();
    for own in [false, true] {
        let unit = fixture.store.tenant(&context(1));
        if own {
            unit.postgres().await.unwrap();
        }
        unit.put(counter(if own { "own" } else { "alone" }, 1));
        unit.commit().await.unwrap();
    }
    let noted = fixture.database.psql("SELECT string_agg(said, ', ') FROM public.noted").unwrap();
    assert_eq!(noted, "off off off force_generic_plan, off off off force_generic_plan");
}

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
    fixture.database.psql("UPDATE karwan.meta SET schema = 2; DROP TABLE karwan.retried").unwrap();
    assert!(!plans(&fixture).contains("docp_order"), "the old policy hides the key");
    let address: Address = fixture.database.url().parse().unwrap();
    migrate(&address, &[&catalogue()], &kinds(), &|_, _, _| {}).await.unwrap();
    assert_eq!(fixture.database.psql(policies).unwrap(), new);
}
