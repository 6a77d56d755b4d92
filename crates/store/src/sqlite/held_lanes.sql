-- Lanes of a consumer that are held under a lease that counts (?2, ?3), as taking one judges it; none where it is parted
-- otherwise than into so many (?4), so that whoever takes one is told.
SELECT lane FROM lane
WHERE consumer = ?1 AND holder IS NOT NULL AND lease_until > ?2 AND lease_from <= ?3
  AND NOT EXISTS (SELECT 1 FROM lane_count WHERE consumer = ?1 AND lanes <> ?4)
