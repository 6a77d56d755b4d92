-- Who may do what. Applied by every migration. The application role has EXECUTE on a few functions and SELECT on
-- documents, nothing more; there are no default privileges, and stretches of the log carry no grants.

REVOKE ALL ON SCHEMA karwan FROM PUBLIC;
GRANT USAGE ON SCHEMA karwan TO karwan_app, karwan_relay, karwan_append, karwan_maintenance;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA karwan FROM PUBLIC;

GRANT SELECT ON karwan.meta, karwan.incarnation, karwan.subject, karwan.kind, karwan.field, karwan.signature, karwan.partition
    TO karwan_app, karwan_relay, karwan_maintenance;
GRANT EXECUTE ON FUNCTION karwan.highest(), karwan.keep_ahead(), karwan.life(), karwan.is_home(text), karwan.seen_life()
    TO karwan_app, karwan_relay, karwan_maintenance;

GRANT SELECT ON karwan.log, karwan.inbox, karwan.deadline, karwan.effect, karwan.node, karwan.lane, karwan.parked, karwan.dead
    TO karwan_relay, karwan_maintenance;
GRANT INSERT, UPDATE, DELETE
    ON karwan.inbox, karwan.deadline, karwan.effect, karwan.node, karwan.lane, karwan.parked, karwan.dead TO karwan_relay;
GRANT UPDATE ON karwan.field TO karwan_maintenance;
GRANT SELECT, DELETE ON karwan.intent, karwan.unit TO karwan_maintenance;
GRANT EXECUTE ON FUNCTION karwan.drop_stretch(bigint), karwan.resume(), karwan.new_life(boolean),
    karwan.make_partitions(bigint, integer), karwan.make_inbox_leaves(integer) TO karwan_maintenance;
GRANT EXECUTE ON FUNCTION karwan.append(uuid, text, text, text, text, uuid, uuid, text, text, text) TO karwan_append;
-- Of these there is one signature a schema; older ones stay for older programs.
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'karwan'::regnamespace AND proname IN ('flush', 'unit_committed', 'canary') LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO karwan_app', f);
    END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION karwan.check_lane(text, integer, bigint), karwan.as_jsonb(text) TO karwan_relay, karwan_maintenance;

-- The view of the documents' outbox table, for operators.
CREATE OR REPLACE VIEW karwan.outbox WITH (security_invoker = true) AS
SELECT l.event_id AS id,
       l.at AS occurred_at,
       l.tenant_id,
       split_part(s.name, '.', greatest(array_length(string_to_array(s.name, '.'), 1) - 2, 1)) AS aggregate_type,
       l.key AS aggregate_id,
       s.name AS topic,
       l.tenant_id || ':' || l.key AS ordering_key,
       karwan.as_jsonb(l.envelope) AS envelope,
       coalesce(karwan.as_jsonb(l.envelope) ->> 'idempotencyKey', karwan.as_jsonb(l.envelope) ->> 'dedupKey') AS idempotency_key,
       coalesce(p.attempts, 0) AS attempts,
       p.error AS last_error,
       CASE WHEN p.event_id IS NULL AND l.seq <= r.position THEN l.at END AS published_at
FROM karwan.log l
JOIN karwan.subject s ON s.id = l.subject
LEFT JOIN karwan.parked p ON p.consumer = 'relay' AND p.event_id = l.event_id
LEFT JOIN (SELECT min(position) AS position FROM karwan.lane WHERE consumer = 'relay') r ON true;
GRANT SELECT ON karwan.outbox TO karwan_relay, karwan_maintenance;
-- How far numbers were drawn; only appends draw them.
GRANT SELECT ON karwan.log_seq TO karwan_relay, karwan_maintenance;
