-- Parks an event, or moves what is parked already.
INSERT INTO parked (consumer, event, lane, seq, logged, tenant, subject, key, due, attempts, error, envelope)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (consumer, event) DO UPDATE
SET lane = excluded.lane, due = excluded.due, attempts = excluded.attempts, error = excluded.error
