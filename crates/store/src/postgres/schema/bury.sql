-- Gives an event up: out of the parked ones, into the inbox and the dead letters. Nothing where it was handled before.
WITH parked AS (
    DELETE FROM karwan.parked WHERE consumer = $1 AND event_id = $2
), claimed AS (
    INSERT INTO karwan.inbox (consumer, event_id, tenant_id, seq, at) VALUES ($1, $2, $4, $3, $10)
    ON CONFLICT DO NOTHING RETURNING 1
)
INSERT INTO karwan.dead (consumer, event_id, seq, tenant_id, subject, key, attempts, error, envelope, logged)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM claimed
