-- Parks an event; parking it again moves its due time and counts the attempt.
INSERT INTO karwan.parked AS p (consumer, event_id, lane, seq, tenant_id, subject, key, due, attempts, error, envelope)
VALUES ($1, $2, $3::int, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (consumer, event_id) DO UPDATE SET due = excluded.due, attempts = excluded.attempts, error = excluded.error
