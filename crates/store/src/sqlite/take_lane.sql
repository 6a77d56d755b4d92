-- Takes a lane that is new, free, or whose lease has run out; a lease from the future (?6) does not count.
INSERT INTO lane (consumer, lane, position, epoch, holder, lease_from, lease_until)
VALUES (?1, ?2, 0, 1, ?3, ?4, ?5)
ON CONFLICT (consumer, lane) DO UPDATE
SET epoch = lane.epoch + 1, holder = excluded.holder, lease_from = excluded.lease_from, lease_until = excluded.lease_until
WHERE lane.holder IS NULL OR lane.lease_until <= ?4 OR lane.lease_from > ?6
RETURNING epoch, position
