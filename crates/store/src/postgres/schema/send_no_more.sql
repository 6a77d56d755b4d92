-- Claims again what an action has parked and nobody has tried.
WITH gone AS (
    DELETE FROM karwan.parked WHERE consumer = $1 AND error = $2 AND attempts = 0
    RETURNING event_id, tenant_id, seq, logged
), claimed AS (
    INSERT INTO karwan.inbox (consumer, event_id, tenant_id, seq, at)
    SELECT $1, event_id, tenant_id, seq, logged FROM gone ON CONFLICT DO NOTHING
)
SELECT event_id FROM gone
