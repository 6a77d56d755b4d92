-- The first open effects of keys of a kind and tenant, in a share, that may be tried. Those that wait for a time and those that
-- never waited are found apart, each in its own order, so that what is held back is not even looked at, and what was tried
-- before is not behind all that is new.
SELECT tenant, id, kind, key, body, attempts, answer, error, cause, seq FROM (
    SELECT * FROM (
        SELECT e.* FROM effect e
        WHERE e.kind = ?1 AND e.tenant = ?6 AND e.state IN ('waiting', 'answered')
          AND e.due > 0 AND e.due <= ?4 AND e.slot % ?2 = ?3
          AND NOT EXISTS (SELECT 1 FROM effect b WHERE b.kind = e.kind AND b.tenant = e.tenant AND b.key = e.key
                          AND b.state IN ('waiting', 'answered') AND b.seq < e.seq)
        ORDER BY e.due, e.seq LIMIT ?5)
    UNION ALL
    SELECT * FROM (
        SELECT e.* FROM effect e
        WHERE e.kind = ?1 AND e.tenant = ?6 AND e.state IN ('waiting', 'answered')
          AND e.due = 0 AND e.slot % ?2 = ?3
          AND NOT EXISTS (SELECT 1 FROM effect b WHERE b.kind = e.kind AND b.tenant = e.tenant AND b.key = e.key
                          AND b.state IN ('waiting', 'answered') AND b.seq < e.seq)
        ORDER BY e.seq LIMIT ?5)
)
ORDER BY seq LIMIT ?5
