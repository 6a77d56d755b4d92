-- A node lives, and so do the leases that it knows of; answers the nodes that live, and the leases that go on. A lease that has
-- run out is not revived: somebody may be taking the lane at this moment. One that the node does not know of, because the answer was lost, runs out.
WITH alive AS (
    INSERT INTO karwan.node (name, until, runs) VALUES ($1, clock_timestamp() + $2::bigint * interval '1 millisecond', $3)
    ON CONFLICT (name) DO UPDATE SET until = excluded.until, runs = excluded.runs
    RETURNING name, runs
), held AS MATERIALIZED (
    -- In their order, as positions are saved.
    SELECT l.consumer, l.lane, l.epoch
    FROM unnest($4::text[], $5::int[], $6::bigint[]) AS known (consumer, lane, epoch)
    JOIN karwan.lane l ON l.consumer = known.consumer AND l.lane = known.lane AND l.epoch = known.epoch
    WHERE l.holder = $1 AND l.until >= clock_timestamp()
    ORDER BY l.consumer, l.lane FOR NO KEY UPDATE OF l
), prolonged AS (
    UPDATE karwan.lane l SET until = clock_timestamp() + $2::bigint * interval '1 millisecond'
    FROM held WHERE l.consumer = held.consumer AND l.lane = held.lane
    RETURNING l.consumer, l.lane::int, l.epoch
), gone AS (
    DELETE FROM karwan.node WHERE until < clock_timestamp() - interval '1 day'
)
SELECT name, runs, NULL::int AS lane, NULL::bigint AS epoch FROM karwan.node WHERE until >= clock_timestamp() AND name <> $1
UNION ALL SELECT name, runs, NULL, NULL FROM alive
UNION ALL SELECT consumer, '', lane, epoch FROM prolonged
ORDER BY name, lane
