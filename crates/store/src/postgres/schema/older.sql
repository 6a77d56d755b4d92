-- What programs of older schemas call, in the terms of this one.

-- Before schema 3 a flush was of one lane.
CREATE OR REPLACE FUNCTION karwan.flush(
    p_tenants uuid[],
    p_consumer text, p_lane integer, p_epoch bigint,
    p_claim_tenant uuid[], p_claim_event uuid[], p_claim_seq bigint[], p_claim_logged timestamptz[], p_claim_parked boolean[],
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
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN karwan.flush(
        p_tenants, 0,
        array_remove(ARRAY[p_consumer], NULL), ARRAY[p_lane], ARRAY[p_epoch],
        array_fill(1, ARRAY[cardinality(p_claim_event)]), p_claim_tenant, p_claim_event, p_claim_seq, p_claim_logged,
        p_claim_parked,
        p_locks, p_unit_tenant, p_unit, p_doc_kind, p_doc_tenant, p_doc_id, p_doc_version, p_doc_blind, p_doc_action,
        p_doc_shape, p_doc_body, p_doc_width, p_doc_fields, p_fired_tenant, p_fired_kind, p_fired_id, p_fired_token,
        p_settled_tenant, p_settled, p_due_tenant, p_due_kind, p_due_id, p_due_slot, p_due, p_due_body, p_due_token,
        p_due_cause, p_effect_tenant, p_effect, p_effect_kind, p_effect_key, p_effect_slot, p_effect_body,
        p_effect_cause, p_tenant, p_subject, p_key, p_slot, p_event, p_idem, p_hash, p_envelope);
END $$;
