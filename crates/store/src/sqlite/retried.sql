-- A parked event is in its stream: it is known by its number there.
INSERT INTO retried (consumer, event, seq, logged, tenant, subject, key, envelope, stream_seq, stream_created, at)
SELECT consumer, event, seq, logged, tenant, subject, key, envelope, ?3, ?4, ?5 FROM parked WHERE consumer = ?1 AND event = ?2
ON CONFLICT (consumer, event) DO UPDATE SET envelope = excluded.envelope, stream_seq = excluded.stream_seq,
    stream_created = excluded.stream_created, at = excluded.at
