-- What schema 6 changes in the tables.

-- For a lane that is taken over: the first of every key. It does not begin with the consumer: while nothing is parked the planner
-- takes any index that does for as good as the primary key, and a flush, which keeps its plans, looked for each of its claims among
-- all that waited.
DROP INDEX karwan.parked_key;
CREATE INDEX parked_key ON karwan.parked (lane, consumer, tenant_id, key, seq);

-- What a relay has published of what it had parked. Such an event lies behind the relay's position, and its message says nothing of it:
-- where a stream loses the message, nothing but this row knows that it was there. Kept as long as consumers remember what they have
-- handled.
CREATE TABLE karwan.retried (
    consumer       text        COLLATE "C" NOT NULL,
    event_id       uuid        NOT NULL,
    seq            bigint      NOT NULL,
    -- When the event entered the log.
    logged         timestamptz NOT NULL,
    tenant_id      uuid        NOT NULL,
    subject        integer     NOT NULL,
    key            text        NOT NULL,
    -- As it was published: it may have been repaired.
    envelope       text        NOT NULL,
    -- Its number in the stream, 0 where it was published in its place of the log; and when that stream was made, milliseconds
    -- after 1970.
    stream_seq     bigint      NOT NULL,
    stream_created bigint      NOT NULL,
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, event_id)
);
