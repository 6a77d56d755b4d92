-- A node lives, and so do its leases; answers the nodes that live. A lease that has run out is not revived: somebody may be
-- taking the lane at this moment.
WITH alive AS (
    INSERT INTO karwan.node (name, until) VALUES ($1, clock_timestamp() + $2::bigint * interval '1 millisecond')
    ON CONFLICT (name) DO UPDATE SET until = excluded.until
    RETURNING name
), prolonged AS (
    UPDATE karwan.lane SET until = clock_timestamp() + $2::bigint * interval '1 millisecond'
    WHERE holder = $1 AND until >= clock_timestamp()
), gone AS (
    DELETE FROM karwan.node WHERE until < clock_timestamp() - interval '1 day'
)
SELECT name FROM karwan.node WHERE until >= clock_timestamp() AND name <> $1
UNION SELECT name FROM alive
ORDER BY name
