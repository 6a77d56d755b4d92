-- A parked event is in its stream: it is parked no more, and known by its number there.
WITH freed AS (
    DELETE FROM karwan.parked WHERE consumer = $1 AND event_id = $2
    RETURNING consumer, event_id, seq, logged, tenant_id, subject, key, envelope
)
INSERT INTO karwan.retried (consumer, event_id, seq, logged, tenant_id, subject, key, envelope, stream_seq, stream_created)
SELECT freed.*, $3::bigint, $4::bigint FROM freed
ON CONFLICT (consumer, event_id) DO UPDATE SET envelope = excluded.envelope, stream_seq = excluded.stream_seq,
    stream_created = excluded.stream_created, at = excluded.at
