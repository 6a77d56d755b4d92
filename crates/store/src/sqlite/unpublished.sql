-- By topic: what lies behind a relay's position, what it parked, what it gave up.
-- ?1 the relay, ?2 its position, ?3 its topics as a JSON array of ids, ?4 now. What is parked behind the position is counted once.
SELECT topic, sum(waiting), sum(parked), sum(dead), coalesce(?4 - min(since), 0), max(attempts), max(error)
FROM (
    SELECT subject.name AS topic, count(*) AS waiting, 0 AS parked, 0 AS dead, min(log.at) AS since, 0 AS attempts, NULL AS error
    FROM log JOIN subject ON subject.id = log.subject
    WHERE log.seq > ?2 AND log.subject IN (SELECT value FROM json_each(?3))
        AND NOT EXISTS (SELECT 1 FROM parked WHERE parked.consumer = ?1 AND parked.event = log.event)
    GROUP BY subject.name
    UNION ALL
    SELECT subject, 0, count(*), 0, min(logged), max(attempts), max(error) FROM parked WHERE consumer = ?1 GROUP BY subject
    UNION ALL
    SELECT subject, 0, 0, count(*), NULL, max(attempts), max(error) FROM dead WHERE consumer = ?1 GROUP BY subject
)
GROUP BY topic ORDER BY topic
