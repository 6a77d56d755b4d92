-- What a stream has lost of what was published after it was parked is parked again, due at once; what lies behind the relay's new
-- position comes from the log.
WITH lost AS (
    DELETE FROM karwan.retried WHERE consumer = $1 AND (stream_created <> $4 OR stream_seq > $3) RETURNING *
)
INSERT INTO karwan.parked (consumer, event_id, lane, seq, logged, tenant_id, subject, key, due, attempts, error, envelope)
SELECT consumer, event_id, 0, seq, logged, tenant_id, subject, key, timestamptz 'epoch', 0, 'its stream has lost it', envelope
FROM lost WHERE seq <= $2
ON CONFLICT DO NOTHING
