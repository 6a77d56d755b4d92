-- Who has rows between two numbers: from one tenant to the next along the index, and a look at each.
WITH RECURSIVE known AS (
    (SELECT tenant_id FROM karwan.log ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT next.tenant_id FROM known CROSS JOIN LATERAL (
        SELECT l.tenant_id FROM karwan.log l WHERE l.tenant_id > known.tenant_id ORDER BY l.tenant_id LIMIT 1
    ) AS next
)
SELECT tenant_id FROM known
WHERE EXISTS (SELECT FROM karwan.log l WHERE l.tenant_id = known.tenant_id AND l.seq > $1 AND l.seq <= $2)
