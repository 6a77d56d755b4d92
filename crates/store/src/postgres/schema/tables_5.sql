-- What schema 5 changes in the tables.

-- For a lane that is taken over: the first of every key. It does not begin with the consumer: while nothing is parked the planner
-- takes any index that does for as good as the primary key, and a flush, which keeps its plans, looked for each of its claims among
-- all that waited.
DROP INDEX karwan.parked_key;
CREATE INDEX parked_key ON karwan.parked (lane, consumer, tenant_id, key, seq);
