-- Parks an event, or moves what is parked already. One that was never tried and is read again still waits for what it waited for.
INSERT INTO parked (consumer, event, lane, seq, logged, tenant, subject, key, due, attempts, error, envelope, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (consumer, event) DO UPDATE SET lane = excluded.lane, due = excluded.due, attempts = excluded.attempts,
    error = CASE WHEN excluded.attempts = 0 AND excluded.due = 0 AND parked.attempts = 0 THEN parked.error ELSE excluded.error END
