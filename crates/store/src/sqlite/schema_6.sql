-- Schema 6: what a relay has published of what it had parked.

-- Such an event lies behind the relay's position, and its message says nothing of it: where a stream loses the message, nothing but this
-- row knows that it was there. Kept as long as consumers remember what they have handled.
CREATE TABLE retried (
    consumer       TEXT NOT NULL,
    event          BLOB NOT NULL,
    seq            INTEGER NOT NULL,
    -- When the event entered the log.
    logged         INTEGER NOT NULL,
    tenant         BLOB NOT NULL,
    subject        TEXT NOT NULL,
    key            TEXT NOT NULL,
    -- As it was published: it may have been repaired.
    envelope       TEXT NOT NULL,
    -- Its number in the stream, 0 where it was published in its place of the log; and when that stream was made, milliseconds
    -- after 1970.
    stream_seq     INTEGER NOT NULL,
    stream_created INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    PRIMARY KEY (consumer, event)
) STRICT, WITHOUT ROWID;
