-- Takes claims back, but for those of letters: given up, or taken aside or deleted by an operator.
DELETE FROM karwan.inbox i USING unnest($2::uuid[], $3::timestamptz[]) AS c(event, logged)
WHERE i.consumer = $1 AND i.event_id = c.event AND i.at = c.logged
  AND NOT EXISTS (SELECT FROM karwan.dead d WHERE d.consumer = $1 AND d.event_id = c.event)
  AND NOT EXISTS (SELECT FROM karwan.aside a WHERE a.consumer = $1 AND a.event_id = c.event)
  AND NOT EXISTS (SELECT FROM karwan.action x WHERE x.consumer = $1 AND x.event_id = c.event AND x.verb = 'delete')
RETURNING i.event_id
