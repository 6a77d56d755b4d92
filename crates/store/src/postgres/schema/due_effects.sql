-- The first open effects of keys of a kind, in a share, that may be tried; nothing while the store is suspended. Every tenant
-- has an equal part of what is looked for, and the first of each comes before the second of any: one that has recorded thousands
-- delays nobody else.
--
-- Those that wait for a time, which are the first of their keys, and those that never waited are found apart, each in its own order, so
-- that what is held back is not even looked at, and what was tried before is not behind all that is new. Where the oldest thousand
-- of a tenant are behind few keys, its keys are gone through one by one. Whether one is the first of its key is looked up for
-- each: joined, on a plan that was made when the table was empty, it took seconds.
WITH RECURSIVE walk AS (
    (SELECT e.tenant_id FROM karwan.effect e WHERE e.kind = $1 AND e.state IN ('waiting', 'answered')
     ORDER BY e.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT e.tenant_id FROM karwan.effect e
            WHERE e.kind = $1 AND e.state IN ('waiting', 'answered') AND e.tenant_id > walk.tenant_id
            ORDER BY e.tenant_id LIMIT 1)
    FROM walk WHERE walk.tenant_id IS NOT NULL
), owner AS MATERIALIZED (
    SELECT tenant_id FROM walk
    WHERE tenant_id IS NOT NULL AND NOT (SELECT suspended FROM karwan.incarnation ORDER BY number DESC LIMIT 1)
), part AS MATERIALIZED (
    SELECT greatest(1, ceil($5::bigint / greatest(1, count(*))::numeric))::bigint AS most FROM owner
)
SELECT head.tenant_id, head.id, head.kind, head.key, head.body, head.attempts, head.answer, head.error, head.cause
FROM owner CROSS JOIN LATERAL (
    WITH RECURSIVE fresh AS MATERIALIZED (
        SELECT n.* FROM (
            SELECT e.* FROM karwan.effect e
            WHERE e.kind = $1 AND e.tenant_id = owner.tenant_id AND e.state IN ('waiting', 'answered')
              AND e.due = 'epoch' AND e.slot % $2::int = $3::int
            ORDER BY e.seq LIMIT 1000) AS n
        WHERE n.seq = (SELECT b.seq FROM karwan.effect b
                       WHERE b.kind = $1 AND b.tenant_id = owner.tenant_id AND b.key = n.key
                         AND b.state IN ('waiting', 'answered') ORDER BY b.seq LIMIT 1)
        ORDER BY n.seq LIMIT (SELECT most FROM part)
    ), keys (key) AS (
        (SELECT e.key FROM karwan.effect e
         WHERE e.kind = $1 AND e.tenant_id = owner.tenant_id AND e.state IN ('waiting', 'answered')
           AND (SELECT count(*) FROM fresh) < (SELECT most FROM part)
           AND (SELECT m.seq FROM karwan.effect m
                WHERE m.kind = $1 AND m.tenant_id = owner.tenant_id AND m.state IN ('waiting', 'answered') AND m.due = 'epoch'
                ORDER BY m.seq OFFSET 1000 LIMIT 1) IS NOT NULL
         ORDER BY e.key LIMIT 1)
        UNION ALL
        SELECT (SELECT e.key FROM karwan.effect e
                WHERE e.kind = $1 AND e.tenant_id = owner.tenant_id AND e.state IN ('waiting', 'answered') AND e.key > keys.key
                ORDER BY e.key LIMIT 1)
        FROM keys WHERE keys.key IS NOT NULL
    )
    SELECT found.*, row_number() OVER (ORDER BY found.seq) AS place
    FROM (
        (SELECT e.* FROM karwan.effect e
         WHERE e.kind = $1 AND e.tenant_id = owner.tenant_id AND e.state IN ('waiting', 'answered')
           AND e.due > 'epoch' AND e.due <= $4 AND e.slot % $2::int = $3::int
           AND e.seq = (SELECT b.seq FROM karwan.effect b
                        WHERE b.kind = $1 AND b.tenant_id = owner.tenant_id AND b.key = e.key
                          AND b.state IN ('waiting', 'answered') ORDER BY b.seq LIMIT 1)
         ORDER BY e.due, e.seq LIMIT (SELECT most FROM part))
        UNION ALL
        SELECT fresh.* FROM fresh
        UNION ALL
        (SELECT behind.* FROM keys CROSS JOIN LATERAL (
             SELECT e.* FROM karwan.effect e
             WHERE e.kind = $1 AND e.tenant_id = owner.tenant_id AND e.key = keys.key AND e.state IN ('waiting', 'answered')
             ORDER BY e.seq LIMIT 1) AS behind
         WHERE behind.due = 'epoch' AND behind.slot % $2::int = $3::int
           AND NOT EXISTS (SELECT FROM fresh WHERE fresh.seq = behind.seq)
         ORDER BY behind.seq LIMIT (SELECT most FROM part))
    ) AS found ORDER BY found.seq LIMIT (SELECT most FROM part)
) AS head
ORDER BY head.place, head.seq LIMIT $5
