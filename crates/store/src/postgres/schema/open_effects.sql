-- Open effects of a kind, key by key, whoever's they are, whether they may be tried yet or not; nothing while the store is suspended.
-- Where these are all, nobody has to be fair: `due_effects` is for when there are more.
SELECT e.tenant_id, e.id, e.kind, e.key, e.body, e.attempts, e.answer, e.error, e.cause, e.seq,
       e.due <= $4 AND e.slot % $2::int = $3::int
FROM karwan.effect e
WHERE e.kind = $1 AND e.state IN ('waiting', 'answered')
  AND NOT (SELECT suspended FROM karwan.incarnation ORDER BY number DESC LIMIT 1)
ORDER BY e.tenant_id, e.key, e.seq LIMIT $5
