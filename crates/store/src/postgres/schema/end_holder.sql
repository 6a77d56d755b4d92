-- Ends the session of one transaction that holds the lock of an append; a prepared transaction has none, and is not here.
-- MATERIALIZED: who it is is known before anybody is ended. Folded into one, the planner would end whomever it met first.
WITH held AS MATERIALIZED (
    SELECT l.pid, a.usename, a.state FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'relation' AND l.relation = (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'karwan' AND c.relname = 'log') AND l.mode = 'RowExclusiveLock' AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.virtualtransaction = $1 AND l.pid <> pg_backend_pid()
)
SELECT 'process ' || pid || coalesce(', login ' || usename, ''), coalesce(state, 'ended'), pg_terminate_backend(pid) FROM held
