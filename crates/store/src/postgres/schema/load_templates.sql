-- Takes in the envelopes around payloads that come by karwan.append; only what has changed is written.
INSERT INTO karwan.template AS t (subject, actor, caused, pieces)
SELECT s.id, x.actor, x.caused, x.pieces
FROM jsonb_array_elements($1::text::jsonb) AS given
JOIN karwan.subject s ON s.name = given ->> 'name'
CROSS JOIN LATERAL jsonb_to_recordset(given -> 'templates') AS x(actor text, caused boolean, pieces text[])
ON CONFLICT (subject, actor, caused) DO UPDATE SET pieces = excluded.pieces WHERE t.pieces <> excluded.pieces
