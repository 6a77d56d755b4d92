-- Who holds the lock that an append takes, longest first. Asked by logins that may not enter the schema. A prepared transaction has no process, only a name.
SELECT CASE WHEN l.pid IS NULL THEN 'prepared transaction ' || coalesce(p.gid, l.virtualtransaction)
            ELSE 'process ' || l.pid || coalesce(', login ' || a.usename, '') || coalesce(', ' || nullif(a.application_name, ''), '') END,
       CASE WHEN l.pid IS NULL THEN 'prepared, neither committed nor rolled back'
            ELSE coalesce(a.state, 'what it does is not told to this login') || coalesce(': ' || left(nullif(a.query, ''), 100), '') END,
       -- NULL where the server does not tell: another login's session, seen without pg_read_all_stats.
       CASE WHEN coalesce(a.xact_start, p.prepared) IS NOT NULL
            THEN greatest(0, (extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, p.prepared)) * 1000)::bigint) END
FROM pg_locks l
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
-- It keeps the virtual id of its session until the server restarts, so the way to its name is its transaction's own lock.
LEFT JOIN pg_locks t ON l.pid IS NULL AND t.virtualtransaction = l.virtualtransaction AND t.locktype = 'transactionid' AND t.pid IS NULL
LEFT JOIN pg_prepared_xacts p ON p.transaction = t.transactionid
WHERE l.locktype = 'relation' AND l.relation = (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'karwan' AND c.relname = 'log') AND l.mode = 'RowExclusiveLock' AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY 3 DESC NULLS LAST
