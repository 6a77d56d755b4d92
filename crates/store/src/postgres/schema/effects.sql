-- How the calls of a kind stand by the store's clock.
SELECT count(*), count(*) FILTER (WHERE due > clock_timestamp()),
       coalesce((extract(epoch FROM max(clock_timestamp() - at)) * 1000)::bigint, 0),
       (SELECT count(*) FROM karwan.effect WHERE kind = $1 AND state = 'dead'),
       coalesce((SELECT error FROM karwan.effect WHERE kind = $1 AND state IN ('waiting', 'answered') AND error IS NOT NULL
                 ORDER BY due DESC, seq DESC LIMIT 1),
                (SELECT error FROM karwan.effect WHERE kind = $1 AND state = 'dead' ORDER BY seq DESC LIMIT 1))
FROM karwan.effect WHERE kind = $1 AND state IN ('waiting', 'answered')
