-- Whether a deadline, or the first open effect of a key, of any of these kinds may be tried; no effect while the store is suspended.
-- By one statement: what one of them brings about in another, which would have been asked for before, is seen.
SELECT EXISTS (SELECT 1 FROM deadline WHERE kind IN (SELECT value FROM json_each(?1)) AND try_at <= ?3)
    OR EXISTS (
        SELECT 1 FROM effect e
        WHERE e.kind IN (SELECT value FROM json_each(?2)) AND e.state IN ('waiting', 'answered') AND e.due <= ?3
          AND NOT EXISTS (SELECT 1 FROM effect b WHERE b.kind = e.kind AND b.tenant = e.tenant AND b.key = e.key
                          AND b.state IN ('waiting', 'answered') AND b.seq < e.seq)
          AND NOT (SELECT suspended FROM meta))
