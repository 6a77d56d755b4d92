-- What programs of schema 4 call, in the terms of this one.

CREATE OR REPLACE FUNCTION karwan.flush(
    p_tenants uuid[], p_wait_ms integer,
    p_consumer text[], p_lane integer[], p_epoch bigint[],
    p_claim_hold integer[], p_claim_tenant uuid[], p_claim_event uuid[], p_claim_seq bigint[], p_claim_logged timestamptz[],
    p_claim_parked boolean[],
    p_locks bigint[],
    p_unit_tenant uuid[], p_unit uuid[],
    p_doc_kind text[], p_doc_tenant uuid[], p_doc_id text[], p_doc_version bigint[], p_doc_blind boolean[],
    p_doc_action smallint[], p_doc_shape integer[], p_doc_body text[], p_doc_width integer, p_doc_fields text[],
    p_fired_tenant uuid[], p_fired_kind text[], p_fired_id text[], p_fired_token uuid[],
    p_settled_tenant uuid[], p_settled uuid[],
    p_due_tenant uuid[], p_due_kind text[], p_due_id text[], p_due_slot smallint[], p_due timestamptz[], p_due_body text[],
    p_due_token uuid[], p_due_cause text[],
    p_effect_tenant uuid[], p_effect uuid[], p_effect_kind text[], p_effect_key text[], p_effect_slot smallint[],
    p_effect_body text[], p_effect_cause text[],
    p_tenant uuid[], p_subject integer[], p_key text[], p_slot smallint[], p_event uuid[], p_idem text[], p_hash uuid[],
    p_envelope text[]
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    kinds   text[];
    ends    integer[];
    puts    integer[];
    known   integer[];
    intents integer[];
BEGIN
    SELECT array_agg(s.kind ORDER BY s.z), array_agg(s.z ORDER BY s.z), array_agg(s.puts ORDER BY s.z), array_agg(s.known ORDER BY s.z)
    INTO kinds, ends, puts, known
    FROM (
        SELECT d.kind, max(d.k)::integer AS z, (count(*) FILTER (WHERE d.action >= 2))::integer AS puts,
            CASE WHEN min(d.version) <= 0 THEN 0 WHEN min(d.action) = 0 AND max(d.action) = 0 THEN 3 ELSE 2 END AS known
        FROM unnest(p_doc_kind, p_doc_version, p_doc_action) WITH ORDINALITY AS d(kind, version, action, k)
        GROUP BY d.kind) AS s;
    SELECT array_agg(k ORDER BY p_tenant[k], p_subject[k], p_idem[k] COLLATE "C") INTO intents
    FROM generate_series(1, cardinality(p_event)) AS k;
    RETURN karwan.flush_set(
        p_tenants::text, p_wait_ms, nullif(p_consumer, '{}'), nullif(p_lane, '{}'), nullif(p_epoch, '{}'),
        nullif(p_claim_hold, '{}'), nullif(p_claim_tenant, '{}'), nullif(p_claim_event, '{}'), nullif(p_claim_seq, '{}'),
        nullif(p_claim_logged, '{}'), nullif(p_claim_parked, '{}'), nullif(p_locks, '{}'), nullif(p_unit_tenant, '{}'),
        nullif(p_unit, '{}'), kinds, ends, puts, known, p_doc_tenant, p_doc_id, p_doc_version, p_doc_blind, p_doc_action,
        p_doc_shape, p_doc_body, p_doc_width, p_doc_fields, nullif(p_fired_tenant, '{}'), nullif(p_fired_kind, '{}'),
        nullif(p_fired_id, '{}'), nullif(p_fired_token, '{}'), nullif(p_settled_tenant, '{}'), nullif(p_settled, '{}'),
        nullif(p_due_tenant, '{}'), nullif(p_due_kind, '{}'), nullif(p_due_id, '{}'), nullif(p_due_slot, '{}'),
        nullif(p_due, '{}'), nullif(p_due_body, '{}'), nullif(p_due_token, '{}'), nullif(p_due_cause, '{}'),
        nullif(p_effect_tenant, '{}'), nullif(p_effect, '{}'), nullif(p_effect_kind, '{}'), nullif(p_effect_key, '{}'),
        nullif(p_effect_slot, '{}'), nullif(p_effect_body, '{}'), nullif(p_effect_cause, '{}'),
        p_tenant, p_subject, p_key, p_slot, nullif(p_event, '{}'), p_idem, p_hash, p_envelope, intents);
END $$;

CREATE OR REPLACE FUNCTION karwan.read_documents(p_kind text[], p_tenant uuid[], p_id text[])
RETURNS TABLE (place integer, version bigint, shape integer, body text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    kinds text[];
    ends  integer[];
BEGIN
    SELECT array_agg(s.kind ORDER BY s.z), array_agg(s.z ORDER BY s.z) INTO kinds, ends
    FROM (SELECT d.kind, max(d.k)::integer AS z FROM unnest(p_kind) WITH ORDINALITY AS d(kind, k) GROUP BY d.kind) AS s;
    RETURN QUERY SELECT * FROM karwan.read_stretches(p_tenant::text, kinds, ends, p_tenant, p_id);
END $$;
