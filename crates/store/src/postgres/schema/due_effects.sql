-- The first open effect of every key of a kind, in a share, where it may be tried; nothing while the store is suspended.
SELECT e.tenant_id, e.id, e.kind, e.key, e.body, e.attempts, e.answer, e.error, e.cause
FROM karwan.effect e
WHERE e.kind = $1 AND e.state IN ('waiting', 'answered') AND e.slot % $2::int = $3::int AND e.due <= $4
  AND NOT EXISTS (SELECT FROM karwan.effect b WHERE b.kind = e.kind AND b.tenant_id = e.tenant_id AND b.key = e.key
                  AND b.state IN ('waiting', 'answered') AND b.seq < e.seq)
  AND NOT (SELECT suspended FROM karwan.incarnation ORDER BY number DESC LIMIT 1)
ORDER BY e.seq LIMIT $5
