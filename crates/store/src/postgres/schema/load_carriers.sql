-- Which document kind orders the facts of a subject: whatever kinds the store has, whoever brought them in.
UPDATE karwan.subject s SET carrier = c.kind
FROM (
    SELECT t.id, (SELECT k.name FROM karwan.kind k
                  WHERE t.name = k.carries OR starts_with(t.name, k.carries || '.') ORDER BY k.name LIMIT 1) AS kind
    FROM karwan.subject t
) c
WHERE c.id = s.id AND s.carrier IS DISTINCT FROM c.kind
