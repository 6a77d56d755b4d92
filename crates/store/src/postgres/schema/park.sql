-- Parks an event; parking it again moves its due time and counts the attempt. One that was never tried and is read again still waits
-- for what it waited for. One that was handled is not parked.
INSERT INTO karwan.parked AS p (consumer, event_id, lane, seq, tenant_id, subject, key, due, attempts, error, envelope, logged)
SELECT $1, $2, $3::int, $4, $5, $6, $7, $8, $9, $10, $11, $12
WHERE NOT EXISTS (SELECT FROM karwan.inbox WHERE consumer = $1 AND event_id = $2 AND at = $12)
ON CONFLICT (consumer, event_id) DO UPDATE SET lane = excluded.lane, due = excluded.due, attempts = excluded.attempts,
    error = CASE WHEN excluded.attempts = 0 AND excluded.due = 'epoch' AND p.attempts = 0 THEN p.error ELSE excluded.error END
