-- Who may do what. Applied by every migration. The application role has EXECUTE on a few functions and SELECT on
-- documents, nothing more; there are no default privileges, and stretches of the log carry no grants.

REVOKE ALL ON SCHEMA karwan FROM PUBLIC;
GRANT USAGE ON SCHEMA karwan TO karwan_app, karwan_relay, karwan_append, karwan_maintenance;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA karwan FROM PUBLIC;

GRANT SELECT ON karwan.meta, karwan.incarnation, karwan.subject, karwan.schema, karwan.kind, karwan.field, karwan.signature, karwan.partition
    TO karwan_app, karwan_relay, karwan_maintenance;
GRANT EXECUTE ON FUNCTION karwan.highest(), karwan.keep_ahead(), karwan.life(), karwan.is_home(text), karwan.seen_life()
    TO karwan_app, karwan_relay, karwan_maintenance;

GRANT SELECT ON karwan.log, karwan.inbox, karwan.deadline, karwan.effect, karwan.node, karwan.lane_count, karwan.lane,
    karwan.parked, karwan.dead, karwan.suspension TO karwan_relay, karwan_maintenance;
GRANT INSERT, UPDATE, DELETE
    ON karwan.inbox, karwan.deadline, karwan.effect, karwan.node, karwan.lane_count, karwan.lane, karwan.parked, karwan.dead,
    karwan.suspension TO karwan_relay;
-- Operators and their tools: what became of letters, and who did what.
GRANT SELECT ON karwan.action, karwan.paused_key, karwan.revision, karwan.selection, karwan.aside, karwan.repair, karwan.attempt,
    karwan.relay TO karwan_relay, karwan_maintenance;
GRANT INSERT, UPDATE, DELETE ON karwan.attempt, karwan.relay TO karwan_relay;
GRANT SELECT, INSERT, UPDATE, DELETE ON karwan.retried TO karwan_relay;
-- What an operator deletes is nowhere any more.
GRANT SELECT, DELETE ON karwan.retried TO karwan_maintenance;
GRANT INSERT, UPDATE, DELETE ON karwan.parked, karwan.dead, karwan.inbox, karwan.paused_key, karwan.revision, karwan.selection,
    karwan.aside, karwan.attempt, karwan.suspension TO karwan_maintenance;
-- A node stops a consumer that fails for every key; it may stop a key too, and says so as an operator does.
GRANT INSERT, DELETE ON karwan.paused_key TO karwan_relay;
GRANT INSERT, UPDATE ON karwan.revision TO karwan_relay;
-- An action stays.
GRANT INSERT ON karwan.action TO karwan_relay, karwan_maintenance;
GRANT INSERT, DELETE ON karwan.repair TO karwan_maintenance;
GRANT UPDATE (undone_by, detail) ON karwan.action TO karwan_maintenance;
GRANT UPDATE ON karwan.effect, karwan.lane TO karwan_maintenance;
GRANT EXECUTE ON FUNCTION karwan.subject_name(integer) TO karwan_relay, karwan_maintenance;
GRANT EXECUTE ON FUNCTION karwan.stop_lane(text, uuid, text) TO karwan_relay, karwan_maintenance;
GRANT EXECUTE ON FUNCTION karwan.note_attempt(text, uuid, uuid, text, integer, text),
    karwan.save_relay(text, integer, bigint, bigint, bigint, bigint), karwan.rewind(text, integer, bigint, bigint) TO karwan_relay;
-- Moving consumers, and retention.
GRANT SELECT ON karwan.declared, karwan.pruned TO karwan_relay, karwan_maintenance;
GRANT INSERT, UPDATE ON karwan.declared TO karwan_relay;
-- A subject that no release will handle again.
GRANT UPDATE (subjects) ON karwan.declared TO karwan_maintenance;
GRANT INSERT, UPDATE ON karwan.pruned TO karwan_maintenance;
GRANT DELETE ON karwan.action, karwan.effect TO karwan_maintenance;
GRANT EXECUTE ON FUNCTION karwan.stop_lanes(text), karwan.move_lanes(text, bigint[], text, bigint), karwan.forget_lanes(text),
    karwan.remember_lanes(text, integer), karwan.drop_claims(timestamptz) TO karwan_maintenance;
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
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'karwan'::regnamespace AND proname IN ('flush', 'flush_set', 'unit_committed', 'canary', 'read_documents', 'read_stretches') LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO karwan_app', f);
    END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION karwan.save_position(text, integer, bigint, bigint, boolean),
    karwan.save_positions(text[], integer[], bigint[], bigint[]),
    karwan.record_effects(text, integer, bigint, uuid[], uuid[], text[], text[], timestamptz[], text[], integer[]) TO karwan_relay;
GRANT EXECUTE ON FUNCTION karwan.check_lane(text, integer, bigint), karwan.key_number(uuid, text), karwan.slot(bigint),
    karwan.as_jsonb(text) TO karwan_relay, karwan_maintenance;

-- The view of the documents' outbox table, for operators. A topic is carried by the relay that is called like its service:
-- by the service's name, or by a segment of the topic. When a row was published is not kept; it is told by when it was
-- logged. What a relay gave up is in quarantine, and not published; nor is what an operator has set aside or deleted there.
CREATE OR REPLACE VIEW karwan.outbox WITH (security_invoker = true) AS
WITH carrier AS (
    SELECT DISTINCT ON (s.id) s.id AS subject, r.consumer, r.position
    FROM karwan.subject s
    CROSS JOIN LATERAL (
        SELECT replace(regexp_replace(service, '-service$', ''), '-', '_'), 0 FROM unnest(s.producers) AS service
        UNION ALL SELECT split_part(s.name, '.', 2), 1
        UNION ALL SELECT split_part(s.name, '.', 1), 2
    ) AS stream(name, rank)
    JOIN karwan.lane r ON r.consumer = 'relay.' || upper(stream.name)
    ORDER BY s.id, stream.rank, r.consumer
)
SELECT l.event_id AS id,
       l.at AS occurred_at,
       l.tenant_id,
       split_part(s.name, '.', greatest(array_length(string_to_array(s.name, '.'), 1) - 2, 1)) AS aggregate_type,
       l.key AS aggregate_id,
       s.name AS topic,
       l.tenant_id || ':' || l.key AS ordering_key,
       karwan.as_jsonb(l.envelope) AS envelope,
       coalesce(karwan.as_jsonb(l.envelope) ->> 'idempotencyKey', karwan.as_jsonb(l.envelope) ->> 'dedupKey') AS idempotency_key,
       coalesce(p.attempts, d.attempts, a.attempts, 0) AS attempts,
       coalesce(p.error, d.error, a.error) AS last_error,
       CASE WHEN p.event_id IS NULL AND d.event_id IS NULL AND a.event_id IS NULL AND l.seq <= r.position
             AND NOT EXISTS (SELECT FROM karwan.action x WHERE x.consumer = r.consumer AND x.event_id = l.event_id AND x.verb = 'delete')
            THEN l.at END AS published_at
FROM karwan.log l
JOIN karwan.subject s ON s.id = l.subject
LEFT JOIN carrier r ON r.subject = l.subject
LEFT JOIN karwan.parked p ON p.consumer = r.consumer AND p.event_id = l.event_id
LEFT JOIN karwan.dead d ON d.consumer = r.consumer AND d.event_id = l.event_id
LEFT JOIN karwan.aside a ON a.consumer = r.consumer AND a.event_id = l.event_id;
GRANT SELECT ON karwan.outbox TO karwan_relay, karwan_maintenance;

-- The view of the documents' inbox table, for operators. A claim keeps what must be unique and nothing more: its topic is told
-- by the log, as long as it has the row, and what became of it by dead letters and what operators have set aside. A second
-- delivery leaves no row. When an event was handled is not kept; it is told by when it was logged.
CREATE OR REPLACE VIEW karwan.handled WITH (security_invoker = true) AS
SELECT i.consumer AS consumer_name,
       i.event_id,
       s.name AS topic,
       i.tenant_id,
       i.at AS received_at,
       CASE WHEN d.event_id IS NOT NULL OR a.state = 'quarantined' THEN 'error'
            WHEN a.state = 'skipped' THEN 'noop' ELSE 'ok' END AS result
FROM karwan.inbox i
LEFT JOIN karwan.log l ON l.seq = i.seq AND l.event_id = i.event_id
LEFT JOIN karwan.dead d ON d.consumer = i.consumer AND d.event_id = i.event_id
LEFT JOIN karwan.aside a ON a.consumer = i.consumer AND a.event_id = i.event_id
LEFT JOIN karwan.subject s ON s.id = coalesce(l.subject, d.subject, a.subject);
GRANT SELECT ON karwan.handled TO karwan_relay, karwan_maintenance;
-- How far numbers were drawn; only appends draw them.
GRANT SELECT ON karwan.log_seq TO karwan_relay, karwan_maintenance;
