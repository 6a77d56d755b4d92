-- The first open effect of every key of a kind, in a share, where it may be tried; nothing while the store is suspended.
SELECT e.tenant, e.id, e.kind, e.key, e.body, e.attempts, e.answer, e.error, e.cause
FROM effect e
WHERE e.kind = ?1 AND e.state IN ('waiting', 'answered') AND e.slot % ?2 = ?3 AND e.due <= ?4
  AND NOT EXISTS (SELECT 1 FROM effect b WHERE b.kind = e.kind AND b.tenant = e.tenant AND b.key = e.key
                  AND b.state IN ('waiting', 'answered') AND b.seq < e.seq)
  AND NOT (SELECT suspended FROM meta)
ORDER BY e.seq LIMIT ?5
