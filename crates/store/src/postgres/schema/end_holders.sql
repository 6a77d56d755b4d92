-- Ends the sessions that hold the lock of an append for longer; a prepared transaction has none, and is not here.
SELECT 'process ' || held.pid || coalesce(', login ' || held.usename, ''), coalesce(held.state, 'ended'), held.ms
FROM (
    SELECT l.pid, a.usename, a.state, (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)::bigint AS ms
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'relation' AND l.relation = 'karwan.log'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.pid <> pg_backend_pid()
) AS held
WHERE held.ms >= $1 AND pg_terminate_backend(held.pid)
ORDER BY held.ms DESC
