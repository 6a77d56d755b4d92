-- Who has open effects of a kind; nobody while the store is suspended.
WITH RECURSIVE walk (tenant) AS (
    SELECT min(tenant) FROM effect WHERE kind = ?1 AND state IN ('waiting', 'answered')
    UNION ALL
    SELECT (SELECT min(e.tenant) FROM effect e
            WHERE e.kind = ?1 AND e.state IN ('waiting', 'answered') AND e.tenant > walk.tenant)
    FROM walk WHERE walk.tenant IS NOT NULL
)
SELECT tenant FROM walk WHERE tenant IS NOT NULL AND NOT (SELECT suspended FROM meta)
