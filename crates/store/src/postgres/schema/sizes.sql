-- Every table with its rows and dead rows as the statistics have them, partitions added up, indexes included.
SELECT coalesce((SELECT p.relname FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent WHERE i.inhrelid = c.oid), c.relname) AS name,
       sum(pg_stat_get_live_tuples(c.oid))::bigint, sum(pg_stat_get_dead_tuples(c.oid))::bigint,
       sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class c
WHERE c.relnamespace = 'karwan'::regnamespace AND c.relkind = 'r'
GROUP BY 1 ORDER BY 1
