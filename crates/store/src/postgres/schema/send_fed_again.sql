-- As send_again.sql, of events that came from a stream: this store's log does not have them, so they are given with everything.
INSERT INTO karwan.parked (consumer, event_id, lane, seq, tenant_id, subject, key, due, attempts, error, envelope, logged)
SELECT $1, r.event, r.lane, r.seq, r.tenant, s.id, r.key, 'epoch', 0, $2, r.envelope, r.logged
FROM unnest($4::uuid[], $5::int[], $6::bigint[], $7::uuid[], $8::text[], $9::text[], $10::text[], $11::timestamptz[])
    AS r(event, lane, seq, tenant, subject, key, envelope, logged)
-- Outer: an event whose subject nobody knows is refused by the table, and not forgotten.
LEFT JOIN karwan.subject s ON s.name = r.subject
WHERE $3 OR EXISTS (
    SELECT FROM karwan.parked p WHERE p.consumer = $1 AND p.lane = r.lane AND p.tenant_id = r.tenant AND p.key = r.key)
ON CONFLICT DO NOTHING
