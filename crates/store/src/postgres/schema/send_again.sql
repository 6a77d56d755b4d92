-- Parks events whose claims were taken back, due at once: all of them, or those whose key has something parked already, which would
-- otherwise be tried before they are read again. Those of a key go in the order of the log.
INSERT INTO karwan.parked (consumer, event_id, lane, seq, tenant_id, subject, key, due, attempts, error, envelope, logged)
SELECT $1, l.event_id, l.slot % $4::int, l.seq, l.tenant_id, l.subject, l.key, 'epoch', 0, $5, l.envelope,
       date_trunc('milliseconds', l.at)
FROM karwan.log l WHERE l.seq = ANY ($2) AND l.event_id = ANY ($3) AND ($6 OR EXISTS (
    SELECT FROM karwan.parked p WHERE p.consumer = $1 AND p.lane = l.slot % $4::int AND p.tenant_id = l.tenant_id AND p.key = l.key))
ON CONFLICT DO NOTHING
