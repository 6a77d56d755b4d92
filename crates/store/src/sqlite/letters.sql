-- Letters that wait for a person: given up, or parked until somebody acts; calls too.
SELECT consumer, subject, count(*)
FROM (
    SELECT consumer, subject FROM dead
    UNION ALL
    SELECT consumer, subject FROM parked WHERE due IS NULL
    UNION ALL
    SELECT 'effect.' || kind, kind FROM effect WHERE state = 'dead'
)
GROUP BY consumer, subject
