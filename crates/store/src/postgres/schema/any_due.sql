-- Whether a deadline, or the first open effect of a key, of any of these kinds may be tried; no effect while the store is suspended.
-- By one statement: what one of them brings about in another, which would have been asked for before, is seen.
SELECT EXISTS (SELECT FROM karwan.deadline d WHERE d.kind = ANY ($1::text[]) AND d.try_at <= $3)
    OR EXISTS (
        SELECT FROM (
            SELECT DISTINCT ON (e.kind, e.tenant_id, e.key) e.due FROM karwan.effect e
            WHERE e.kind = ANY ($2::text[]) AND e.state IN ('waiting', 'answered')
              AND NOT (SELECT suspended FROM karwan.incarnation ORDER BY number DESC LIMIT 1)
            ORDER BY e.kind, e.tenant_id, e.key, e.seq) AS head
        WHERE head.due <= $3)
