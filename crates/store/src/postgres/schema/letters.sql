-- Letters that wait for a person: given up, or parked until somebody acts; calls too.
SELECT l.consumer, coalesce(s.name, l.kind), sum(l.letters)::bigint
FROM (
    SELECT consumer, subject, '' AS kind, count(*) AS letters FROM karwan.dead GROUP BY consumer, subject
    UNION ALL
    SELECT consumer, subject, '', count(*) FROM karwan.parked WHERE due IS NULL GROUP BY consumer, subject
    UNION ALL
    SELECT 'effect.' || kind, NULL, kind, count(*) FROM karwan.effect WHERE state = 'dead' GROUP BY kind
) AS l
LEFT JOIN karwan.subject s ON s.id = l.subject
GROUP BY 1, 2
