-- By topic: what lies behind a relay's position, what it parked, what it gave up.
-- $1 the relay, $2 its position, $3 its topics. What is parked behind the position is counted once.
SELECT s.name, sum(waiting)::bigint, sum(parked)::bigint, sum(dead)::bigint,
       coalesce(extract(epoch FROM clock_timestamp() - min(since)) * 1000, 0)::bigint, max(attempts)::bigint, max(error)
FROM (
    SELECT subject, count(*) AS waiting, 0 AS parked, 0 AS dead, min(at) AS since, 0 AS attempts, NULL::text AS error
    FROM karwan.log WHERE seq > $2 AND subject = ANY ($3)
        AND NOT EXISTS (SELECT FROM karwan.parked p WHERE p.consumer = $1 AND p.event_id = log.event_id)
    GROUP BY subject
    UNION ALL
    SELECT subject, 0, count(*), 0, min(logged), max(attempts), max(error)
    FROM karwan.parked WHERE consumer = $1 GROUP BY subject
    UNION ALL
    SELECT subject, 0, 0, count(*), NULL, max(attempts), max(error)
    FROM karwan.dead WHERE consumer = $1 GROUP BY subject
) AS counted
JOIN karwan.subject s ON s.id = counted.subject
GROUP BY s.name ORDER BY s.name
