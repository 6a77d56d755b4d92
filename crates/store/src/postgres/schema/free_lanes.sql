-- Lanes of a consumer that are new, free, or whose lease has run out, as taking one judges it; all of them where it is parted
-- otherwise, so that whoever takes one is told.
SELECT number FROM generate_series(0, $2::int - 1) AS number
WHERE NOT EXISTS (SELECT FROM karwan.lane l WHERE l.consumer = $1 AND l.lane = number AND l.holder IS NOT NULL
                  AND l.until >= clock_timestamp()
                  AND l.until <= clock_timestamp() + ($3::bigint + 60000) * interval '1 millisecond')
   OR EXISTS (SELECT FROM karwan.lane_count c WHERE c.consumer = $1 AND c.lanes <> $2::int)
ORDER BY number
