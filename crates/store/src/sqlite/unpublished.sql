-- By topic: what lies behind a relay's position, what it parked, what it gave up.
-- ?1 the relay, ?2 its position, ?3 its topics as a JSON array of ids, ?4 now. What is parked behind the position is counted once.
WITH refused AS (
    SELECT subject, error, (SELECT max(at) FROM attempt WHERE consumer = ?1 AND event = parked.event) AS tried
    FROM parked WHERE consumer = ?1 AND attempts > 0
    UNION ALL
    SELECT subject, error, (SELECT max(at) FROM attempt WHERE consumer = ?1 AND event = dead.event)
    FROM dead WHERE consumer = ?1
)
SELECT topic, sum(waiting), sum(parked), sum(dead), coalesce(?4 - min(since), 0), max(attempts),
       (SELECT error FROM refused WHERE refused.subject = topic ORDER BY tried DESC LIMIT 1)
FROM (
    SELECT subject.name AS topic, count(*) AS waiting, 0 AS parked, 0 AS dead, min(log.at) AS since, 0 AS attempts
    FROM log JOIN subject ON subject.id = log.subject
    WHERE log.seq > ?2 AND log.subject IN (SELECT value FROM json_each(?3))
        AND NOT EXISTS (SELECT 1 FROM parked WHERE parked.consumer = ?1 AND parked.event = log.event)
    GROUP BY subject.name
    UNION ALL
    SELECT subject, 0, count(*), 0, min(logged), max(attempts) FROM parked WHERE consumer = ?1 GROUP BY subject
    UNION ALL
    SELECT subject, 0, 0, count(*), NULL, max(attempts) FROM dead WHERE consumer = ?1 GROUP BY subject
)
GROUP BY topic ORDER BY topic
