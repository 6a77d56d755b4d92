-- Ends the sessions that hold the lock of an append for longer; a prepared transaction has none, and is not here.
-- MATERIALIZED: who they are is known before anybody is ended. Folded into one, the planner would end whomever it met first.
WITH held AS MATERIALIZED (
    SELECT l.pid, a.usename, a.state, (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)::bigint AS ms
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'relation' AND l.relation = 'karwan.log'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.pid <> pg_backend_pid()
      AND a.xact_start <= clock_timestamp() - $1::bigint * interval '1 millisecond'
)
SELECT 'process ' || pid || coalesce(', login ' || usename, ''), coalesce(state, 'ended'), ms, pg_terminate_backend(pid)
FROM held ORDER BY ms DESC
