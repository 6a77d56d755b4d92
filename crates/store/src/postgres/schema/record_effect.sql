-- What became of a call. An answer is taken of a waiting one alone, and counts its own attempts; it may be tried again or
-- given up until it is done.
UPDATE karwan.effect
SET state = coalesce($3, state), answer = coalesce($4, answer), due = coalesce($5, due), error = coalesce($6, error),
    attempts = CASE WHEN $3 = 'answered' THEN 0 ELSE attempts + $7 END
WHERE tenant_id = $1 AND id = $2 AND (state = 'waiting' OR state = 'answered' AND $3 IS DISTINCT FROM 'answered')
