-- Every table with its rows and dead rows as the statistics have them, stretches of the log added up, indexes included.
SELECT CASE WHEN c.relispartition THEN 'log' ELSE c.relname END AS name,
       sum(pg_stat_get_live_tuples(c.oid))::bigint, sum(pg_stat_get_dead_tuples(c.oid))::bigint,
       sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class c
WHERE c.relnamespace = 'karwan'::regnamespace AND c.relkind = 'r'
GROUP BY 1 ORDER BY 1
