-- How the calls of a kind (?1) stand at an instant (?2) by the store's clock.
SELECT count(*), coalesce(sum(due > ?2), 0), coalesce(max(?2 - at), 0),
       (SELECT count(*) FROM effect WHERE kind = ?1 AND state = 'dead'),
       coalesce((SELECT error FROM effect WHERE kind = ?1 AND state IN ('waiting', 'answered') AND error IS NOT NULL
                 ORDER BY due DESC, seq DESC LIMIT 1),
                (SELECT error FROM effect WHERE kind = ?1 AND state = 'dead' ORDER BY seq DESC LIMIT 1))
FROM effect WHERE kind = ?1 AND state IN ('waiting', 'answered')
