-- By topic: what lies behind a relay's position, what it parked, what it gave up, and why one was refused last.
-- $1 the relay, $2 its position, $3 its topics. What is parked behind the position is counted once.
WITH refused AS (
    SELECT subject, error, (SELECT max(a.at) FROM karwan.attempt a WHERE a.consumer = $1 AND a.event_id = p.event_id) AS tried
    FROM karwan.parked p WHERE consumer = $1 AND attempts > 0
    UNION ALL
    SELECT subject, error, (SELECT max(a.at) FROM karwan.attempt a WHERE a.consumer = $1 AND a.event_id = d.event_id)
    FROM karwan.dead d WHERE consumer = $1
)
SELECT s.name, sum(waiting)::bigint, sum(parked)::bigint, sum(dead)::bigint,
       coalesce(extract(epoch FROM clock_timestamp() - min(since)) * 1000, 0)::bigint, max(attempts)::bigint,
       (SELECT error FROM refused WHERE refused.subject = s.id ORDER BY tried DESC NULLS LAST LIMIT 1)
FROM (
    SELECT subject, count(*) AS waiting, 0 AS parked, 0 AS dead, min(at) AS since, 0 AS attempts
    FROM karwan.log WHERE seq > $2 AND subject = ANY ($3)
        AND NOT EXISTS (SELECT FROM karwan.parked p WHERE p.consumer = $1 AND p.event_id = log.event_id)
    GROUP BY subject
    UNION ALL
    SELECT subject, 0, count(*), 0, min(logged), max(attempts)
    FROM karwan.parked WHERE consumer = $1 GROUP BY subject
    UNION ALL
    SELECT subject, 0, 0, count(*), NULL, max(attempts)
    FROM karwan.dead WHERE consumer = $1 GROUP BY subject
) AS counted
JOIN karwan.subject s ON s.id = counted.subject
GROUP BY s.id, s.name ORDER BY s.name
