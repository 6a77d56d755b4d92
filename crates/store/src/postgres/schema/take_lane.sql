-- Takes a lane that is new, free, or whose lease has run out by the store's clock.
INSERT INTO karwan.lane AS l (consumer, lane, epoch, holder, until)
VALUES ($1, $2::int, 1, $3, clock_timestamp() + $4::bigint * interval '1 millisecond')
ON CONFLICT (consumer, lane) DO UPDATE SET epoch = l.epoch + 1, holder = excluded.holder, until = excluded.until
    WHERE l.holder IS NULL OR l.until < clock_timestamp()
       -- A lease that ends later than any could: the clock was set back, and its holder has not beaten since.
       OR l.until > clock_timestamp() + ($4::bigint + 60000) * interval '1 millisecond'
RETURNING epoch, position
