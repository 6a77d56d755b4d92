//! The tables and functions of document kinds, generated: one table a kind, and a static dispatch over all of them,
//! because a dynamic one costs a tenth of the rate. Names were judged by [`crate::kind::Kinds`]: they need no quoting.

use crate::kind::{FieldType, Kind};

/// The column type of a field.
pub(super) const fn column_type(of: FieldType) -> &'static str {
    match of {
        FieldType::Text => "text COLLATE \"C\"",
        FieldType::Integer => "bigint",
        FieldType::Time => "timestamptz",
        FieldType::Flag => "boolean",
        FieldType::Id => "uuid",
    }
}

/// The same, where a collation cannot stand.
pub(super) const fn cast_type(of: FieldType) -> &'static str {
    match of {
        FieldType::Text => "text",
        FieldType::Integer | FieldType::Time | FieldType::Flag | FieldType::Id => column_type(of),
    }
}

/// The table of a kind, without its declared fields.
pub(super) fn table(kind: &str) -> String {
    format!(
        "CREATE TABLE karwan.doc_{kind} (
            tenant_id uuid NOT NULL,
            id text COLLATE \"C\" NOT NULL,
            version bigint NOT NULL,
            shape integer NOT NULL,
            -- A tombstone has none.
            body text,
            -- Written by a program that did not know every declared field.
            behind boolean NOT NULL DEFAULT false,
            CONSTRAINT docp_{kind} PRIMARY KEY (tenant_id, id)
            -- Room for the next version beside the last: no index changes then.
        ) WITH (fillfactor = 80);
        -- For the backfill.
        CREATE INDEX docb_{kind} ON karwan.doc_{kind} (tenant_id, id) WHERE behind"
    )
}

/// A declared field's column.
pub(super) fn column(kind: &str, field: &str, of: FieldType) -> String {
    let of = column_type(of);
    format!("ALTER TABLE karwan.doc_{kind} ADD COLUMN IF NOT EXISTS f_{field} {of}")
}

/// How an index is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Build {
    /// In the migration's transaction, on a table that is new.
    AtOnce,
    /// While others write, outside of any transaction.
    BesideWriters,
}

/// The index for queries by a field.
pub(super) fn index(kind: &str, field: &str, build: Build) -> String {
    let concurrently = if build == Build::BesideWriters { "CONCURRENTLY " } else { "" };
    let name = index_name(kind, field);
    format!("CREATE INDEX {concurrently}{name} ON karwan.doc_{kind} (tenant_id, f_{field}, id)")
}

pub(super) fn index_name(kind: &str, field: &str) -> String {
    format!("doc_{kind}__{field}")
}

/// What a program writes of a kind: the fields that it declares, in their order. Programs of two versions may differ, so
/// each has a put of its own, named by a hash of the list.
pub(super) fn signature(fields: &[(String, FieldType)]) -> String {
    let list: Vec<String> = fields.iter().map(|(name, of)| format!("{name} {of:?}")).collect();
    format!("{:08x}", crate::write_set::payload_hash(&list.join(",")) as u32)
}

/// The name under which a program's puts of a kind are dispatched.
pub(super) fn token(kind: &Kind) -> String {
    let fields: Vec<(String, FieldType)> = kind.fields.iter().map(|field| (field.name.to_owned(), field.of)).collect();
    format!("{}_{}", kind.name, signature(&fields))
}

/// The put of documents by programs that declare these fields, among all that the kind has: those from `a` to `z` of the arrays, `puts`
/// of them to be written. What such a program does not know becomes empty, and the row is marked for the backfill.
///
/// Where all were read they are updated; else one statement inserts those that were not there and updates the others, in the order of
/// their ids, and asks whether it inserted what it should have found, which takes a third longer. Updated first and inserted after,
/// two flushes could wait for each other.
pub(super) fn put(name: &str, known: &[(String, FieldType)], all: &[(String, FieldType)]) -> String {
    let token = format!("{name}_{}", signature(known));
    let place = |field: &str| known.iter().position(|(known, _)| known == field);
    let value = |(field, of): &(String, FieldType)| match place(field) {
        Some(place) => format!("p_fields[(k - 1) * p_width + {}]::{}", place + 1, cast_type(*of)),
        None => format!("NULL::{}", cast_type(*of)),
    };
    let columns: String = all.iter().map(|(field, _)| format!(", f_{field}")).collect();
    let values: String = all.iter().map(|field| format!(", {}", value(field))).collect();
    let updates: String = all.iter().map(|field| format!(", f_{} = {}", field.0, value(field))).collect();
    let excluded: String = all.iter().map(|(field, _)| format!(", f_{field} = excluded.f_{field}")).collect();
    let behind = all.iter().any(|(field, _)| place(field).is_none());
    format!(
        "CREATE OR REPLACE FUNCTION karwan.put_{token}(
            a integer, z integer, puts integer, all_read boolean,
            p_tenant uuid[], p_id text[], p_version bigint[], p_blind boolean[], p_action smallint[], p_shape integer[],
            p_body text[], p_width integer, p_fields text[]
        ) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            done  bigint;
            wrong boolean;
            bad   record;
        BEGIN
            IF all_read THEN
                UPDATE karwan.doc_{name} d
                SET version = p_version[k] + 1, shape = p_shape[k], body = p_body[k], behind = {behind} AND p_body[k] IS NOT NULL{updates}
                FROM generate_series(a, z) AS k
                WHERE p_action[k] >= 2 AND d.tenant_id = ANY (ARRAY[p_tenant[k]]) AND d.id = p_id[k] AND d.version = p_version[k];
                GET DIAGNOSTICS done = ROW_COUNT;
            ELSE
                -- What was never read is expected not to exist; behind a tombstone its versions go on counting. A row that was inserted
                -- has no xmax.
                WITH put AS (
                    INSERT INTO karwan.doc_{name} AS d (tenant_id, id, version, shape, body, behind{columns})
                    SELECT p_tenant[k], p_id[k], 1 + CASE WHEN p_blind[k] THEN coalesce((SELECT e.version FROM karwan.doc_{name} e
                            WHERE e.tenant_id = p_tenant[k] AND e.id = p_id[k] AND e.body IS NULL), 0) ELSE p_version[k] END,
                        p_shape[k], p_body[k], {behind} AND p_body[k] IS NOT NULL{values}
                    FROM generate_series(a, z) AS k
                    WHERE p_action[k] >= 2
                    ON CONFLICT (tenant_id, id) DO UPDATE
                        SET version = excluded.version, shape = excluded.shape, body = excluded.body, behind = excluded.behind{excluded}
                        WHERE d.version = excluded.version - 1
                    RETURNING d.version > 1 AND d.xmax = 0 AS wrong)
                SELECT count(*), bool_or(put.wrong) INTO done, wrong FROM put;
            END IF;
            IF done < puts OR wrong THEN
                SELECT p_tenant[k] AS tenant, p_id[k] AS id, p_blind[k] AS blind INTO bad
                FROM generate_series(a, z) AS k
                LEFT JOIN LATERAL (
                    SELECT e.version, e.xmin::text = pg_current_xact_id()::xid::text AS mine, e.xmax = 0 AS fresh
                    FROM karwan.doc_{name} e WHERE e.tenant_id = p_tenant[k] AND e.id = p_id[k]) AS e ON true
                WHERE p_action[k] >= 2 AND (e.mine IS NOT TRUE OR e.fresh AND e.version > 1 AND NOT all_read)
                ORDER BY k LIMIT 1;
                IF bad.blind THEN
                    RAISE EXCEPTION 'exists' USING ERRCODE = 'KW005', DETAIL = '{name} ' || bad.id;
                END IF;
                PERFORM karwan.conflict('{name}', coalesce(bad.tenant, p_tenant[a]), coalesce(bad.id, p_id[a]));
            END IF;
        END $$"
    )
}

/// The function that locks documents of a kind, whatever fields it has. Where all are merely looked at, they are locked by one
/// statement; what that does not find as it should is looked for again, one by one.
pub(super) fn locking(name: &str) -> String {
    format!(
        "CREATE OR REPLACE FUNCTION karwan.lock_{name}(
            a integer, z integer, all_checked boolean,
            p_tenant uuid[], p_id text[], p_version bigint[], p_blind boolean[], p_action smallint[]
        ) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v    bigint;
            gone boolean;
        BEGIN
            IF all_checked THEN
                SELECT count(*) INTO v FROM generate_series(a, z) AS k, LATERAL (
                    SELECT d.version FROM karwan.doc_{name} d WHERE d.tenant_id = p_tenant[k] AND d.id = p_id[k] FOR SHARE) AS held
                WHERE held.version = p_version[k];
                IF v = z - a + 1 THEN
                    RETURN;
                END IF;
            END IF;
            FOR i IN a..z LOOP
                IF p_action[i] = -1 THEN
                    -- The unit writes nothing: it need only have read what belonged together.
                    SELECT version INTO v FROM karwan.doc_{name} WHERE tenant_id = p_tenant[i] AND id = p_id[i];
                    IF coalesce(v, 0) <> p_version[i] THEN
                        PERFORM karwan.conflict('{name}', p_tenant[i], p_id[i]);
                    END IF;
                    CONTINUE;
                END IF;
                FOR try IN 1..2 LOOP
                    IF p_action[i] = 0 THEN
                        SELECT version, body IS NULL INTO v, gone FROM karwan.doc_{name} WHERE tenant_id = p_tenant[i] AND id = p_id[i] FOR SHARE;
                    ELSE
                        SELECT version, body IS NULL INTO v, gone FROM karwan.doc_{name} WHERE tenant_id = p_tenant[i] AND id = p_id[i] FOR NO KEY UPDATE;
                    END IF;
                    EXIT WHEN FOUND OR p_version[i] <> 0;
                    -- An absence is checked by a tombstone of version 0, which others then meet.
                    INSERT INTO karwan.doc_{name} (tenant_id, id, version, shape) VALUES (p_tenant[i], p_id[i], 0, 1)
                    ON CONFLICT DO NOTHING;
                END LOOP;
                IF p_blind[i] THEN
                    IF NOT gone THEN
                        RAISE EXCEPTION 'exists' USING ERRCODE = 'KW005', DETAIL = '{name} ' || p_id[i];
                    END IF;
                ELSIF v IS DISTINCT FROM p_version[i] THEN
                    PERFORM karwan.conflict('{name}', p_tenant[i], p_id[i]);
                END IF;
            END LOOP;
        END $$;"
    )
}

/// What is done by a kind, whose tokens are sorted: halved until one is left, and any other refused. A store has dozens, and every
/// comparison is an expression.
fn by_kind(tokens: &[(String, String)], call: &dyn Fn(&str, &str) -> String) -> String {
    match tokens {
        [] => "RAISE case_not_found;\n".to_owned(),
        [(kind, token)] => format!("CASE kind WHEN '{token}' THEN {}; END CASE;\n", call(kind, token)),
        _ => {
            let (low, high) = tokens.split_at(tokens.len() / 2);
            let (least, low, high) = (&high[0].1, by_kind(low, call), by_kind(high, call));
            format!("IF kind < '{least}' COLLATE \"C\" THEN\n{low}ELSE\n{high}END IF;\n")
        }
    }
}

/// Documents of several kinds and tenants, each by its tenant and id, in one look; `place` is that of the ask. They are asked for in
/// stretches of one kind, each with its end. As the owner, under the policy of the flush: whatever is asked, rows of other tenants than
/// those in the list are not seen.
pub(super) fn reading(kinds: &[String]) -> String {
    let same: Vec<(String, String)> = kinds.iter().map(|kind| (kind.clone(), kind.clone())).collect();
    // OFFSET keeps the look at one id apart: as a list of ids the planner may read a tenant's every document and compare each with all.
    let reads = by_kind(&same, &|kind, _| {
        format!(
            "RETURN QUERY SELECT k, f.version, f.shape, f.body
                FROM generate_series(a, z) AS k, LATERAL (
                    SELECT d.version, d.shape, d.body FROM karwan.doc_{kind} d
                    WHERE d.tenant_id = p_tenant[k] AND d.id = p_id[k] OFFSET 0) AS f"
        )
    });
    format!(
        "CREATE OR REPLACE FUNCTION karwan.read_stretches(p_tenants text, p_kind text[], p_end integer[], p_tenant uuid[], p_id text[])
        RETURNS TABLE (place integer, version bigint, shape integer, body text)
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        #variable_conflict use_column
        DECLARE
            a integer := 1;
            z integer;
            kind text;
            said text;
        BEGIN
            said := set_config('app.tenants', p_tenants, true);
            FOR stretch IN 1..cardinality(p_kind) LOOP
                kind := p_kind[stretch];
                z := p_end[stretch];
                {reads}
                a := z + 1;
            END LOOP;
        END $$"
    )
}

/// The dispatch over all kinds and signatures that the store has; sorted by their bytes. Arrays are handed on whole, with the places that
/// are meant: a part of one is a copy. Functions of other parameters that an older program has made stay: one of its flushes may be under
/// way.
pub(super) fn dispatch(tokens: &[(String, String)]) -> String {
    // A put locks in this order, too. With a check among them documents are locked one by one, each in its strongest mode: puts first
    // and checks after deadlocked.
    let writes = by_kind(tokens, &|kind, token| {
        format!(
            "IF puts <= z - a THEN
                 said := karwan.lock_{kind}(a, z, known & 1 = 1, p_tenant, p_id, p_version, p_blind, p_action);
             END IF;
             IF puts > 0 THEN
                 said := karwan.put_{token}(a, z, puts, known & 2 = 2, p_tenant, p_id, p_version, p_blind, p_action, p_shape, p_body,
                     p_width, p_fields);
             END IF"
        )
    });
    format!(
        "CREATE OR REPLACE FUNCTION karwan.write_stretches(
            p_kind text[], p_end integer[], p_puts integer[], p_all integer[],
            p_tenant uuid[], p_id text[], p_version bigint[], p_blind boolean[], p_action smallint[],
            p_shape integer[], p_body text[], p_width integer, p_fields text[]
        ) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            a     integer := 1;
            z     integer;
            kind  text;
            puts  integer;
            known integer;
            said  text;
        BEGIN
            -- Kind by kind, so that everything is locked in its order.
            FOR stretch IN 1..cardinality(p_kind) LOOP
                kind := p_kind[stretch];
                z := p_end[stretch];
                puts := p_puts[stretch];
                known := p_all[stretch];
                {writes}
                a := z + 1;
            END LOOP;
        END $$"
    )
}

/// Whose rows a flush sees: those of the tenants that it named. Written so that no index is sought by it: every statement names the
/// tenant and the id itself, and with a list of tenants beside them the planner takes the primary key for no better than any index
/// that begins with the tenant. On a plan that was made when the table was empty it then read all of a tenant's documents for each.
pub(super) const OF_FLUSH: &str =
    "coalesce(tenant_id, tenant_id) = ANY ((SELECT current_setting('app.tenants', true)::uuid[])::uuid[])";

/// Row-level security that bites: forced, a policy a role. A tenant's rows for the application, a list of tenants for the
/// flush, all of them for the two cross-tenant roles where they have a grant at all.
pub(super) fn secured(table: &str) -> String {
    let one = "tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid";
    let mut sql = format!(
        "ALTER TABLE karwan.{table} ENABLE ROW LEVEL SECURITY;
         ALTER TABLE karwan.{table} FORCE ROW LEVEL SECURITY;
         CREATE POLICY {table}_of_flush ON karwan.{table} TO karwan_owner USING ({OF_FLUSH}) WITH CHECK ({OF_FLUSH});
         CREATE POLICY {table}_of_tenant ON karwan.{table} FOR SELECT TO karwan_app USING ({one});
         CREATE POLICY {table}_of_maintenance ON karwan.{table} TO karwan_maintenance USING (true) WITH CHECK (true);"
    );
    if !table.starts_with("doc_") {
        sql.push_str(&format!(
            "CREATE POLICY {table}_of_relay ON karwan.{table} TO karwan_relay USING (true) WITH CHECK (true);"
        ));
    }
    if table == "log" {
        // Numbers are no tenant's secret, and what runs as the owner answers no rows.
        sql.push_str("CREATE POLICY log_numbers ON karwan.log FOR SELECT TO karwan_owner USING (true);");
    }
    sql
}

/// The same for tables that were made before schema 3, whose policy was one that indexes are sought by.
pub(super) fn secured_again() -> String {
    let list = OF_FLUSH.replace('\'', "''");
    format!(
        "DO $$
        DECLARE
            old record;
        BEGIN
            FOR old IN SELECT tablename, policyname FROM pg_policies WHERE schemaname = 'karwan' AND policyname = tablename || '_of_flush' LOOP
                EXECUTE format('ALTER POLICY %I ON karwan.%I USING ({list}) WITH CHECK ({list})', old.policyname, old.tablename);
            END LOOP;
        END $$"
    )
}

/// What the application and maintenance may do with a kind's documents.
pub(super) fn granted(kind: &str) -> String {
    format!(
        "GRANT SELECT ON karwan.doc_{kind} TO karwan_app;
         GRANT SELECT, UPDATE ON karwan.doc_{kind} TO karwan_maintenance;"
    )
}
