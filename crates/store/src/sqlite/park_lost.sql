-- What a stream has lost of what was published after it was parked is parked again, due at once; what lies behind the relay's new
-- position is read again. One that was given up since is not published.
INSERT INTO parked (consumer, event, lane, seq, logged, tenant, subject, key, due, attempts, error, envelope, at)
SELECT consumer, event, 0, seq, logged, tenant, subject, key, 0, 0, 'its stream has lost it', envelope, ?5
FROM retried AS r WHERE consumer = ?1 AND seq <= ?2 AND (stream_created <> ?4 OR stream_seq > ?3)
AND NOT EXISTS (SELECT 1 FROM inbox WHERE consumer = ?1 AND event = r.event)
ON CONFLICT DO NOTHING
