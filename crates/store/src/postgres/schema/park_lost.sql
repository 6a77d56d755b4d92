-- What a stream has lost of what was published after it was parked is parked again, due at once. What lies behind the relay's new
-- position is read again, and published as it is kept here: its place is then the one that it has in the log. One that was given up
-- since is not published.
WITH lost AS (
    DELETE FROM karwan.retried WHERE consumer = $1 AND seq <= $2 AND (stream_created <> $4 OR stream_seq > $3) RETURNING *
), ahead AS (
    UPDATE karwan.retried SET stream_seq = 0, stream_created = $4 WHERE consumer = $1 AND seq > $2
)
INSERT INTO karwan.parked (consumer, event_id, lane, seq, logged, tenant_id, subject, key, due, attempts, error, envelope)
SELECT consumer, event_id, 0, seq, logged, tenant_id, subject, key, timestamptz 'epoch', 0, 'its stream has lost it', envelope
FROM lost WHERE NOT EXISTS (SELECT FROM karwan.inbox i WHERE i.consumer = $1 AND i.event_id = lost.event_id AND i.at = lost.logged)
ON CONFLICT DO NOTHING
