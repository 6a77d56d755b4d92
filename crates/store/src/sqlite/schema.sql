-- The store's tables. Applied once; later schemas only add. Instants are milliseconds after 1970, by the store's clock;
-- ids and hashes are 16 bytes, most significant first. A table a document kind, `doc_<kind>`, is made by the migration.

CREATE TABLE meta (
    only_row    INTEGER PRIMARY KEY CONSTRAINT one_row CHECK (only_row = 1),
    schema      INTEGER NOT NULL,
    admits_from INTEGER NOT NULL,
    -- Positions of another life mean other events.
    incarnation INTEGER NOT NULL,
    -- Whether effects and relay wait for an operator.
    suspended   INTEGER NOT NULL,
    -- The last row that was dropped from the log.
    floor       INTEGER NOT NULL
) STRICT;

CREATE TABLE subject (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- Every schema that a program has brought, by its content hash: a program reads what another release wrote.
CREATE TABLE schema (
    hash     TEXT PRIMARY KEY,
    path     TEXT NOT NULL,
    document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Document kinds, and how far the filling of their columns has come.
CREATE TABLE kind (
    name        TEXT PRIMARY KEY,
    shape       INTEGER NOT NULL,
    -- Every document up to this one has its columns, while some field is not filled.
    fill_tenant BLOB NOT NULL,
    fill_id     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE field (
    kind   TEXT NOT NULL,
    name   TEXT NOT NULL,
    of     TEXT NOT NULL,
    -- Whether every document has it.
    filled INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: a number is never used again, also when the rows behind it were dropped.
CREATE TABLE log (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant   BLOB NOT NULL,
    subject  INTEGER NOT NULL,
    key      TEXT NOT NULL,
    slot     INTEGER NOT NULL,
    event    BLOB NOT NULL,
    at       INTEGER NOT NULL,
    envelope TEXT NOT NULL
) STRICT;
-- For reading one tenant.
CREATE INDEX log_tenant ON log (tenant, seq);

-- Business intents: the same one twice is recognised for at least 30 days.
CREATE TABLE intent (
    tenant       BLOB NOT NULL,
    subject      INTEGER NOT NULL,
    idem         TEXT NOT NULL,
    payload_hash BLOB NOT NULL,
    event        BLOB NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (tenant, subject, idem)
) STRICT, WITHOUT ROWID;

-- Ids of units from outside: each commits once. Most ids grow with time, so that new ones lie side by side.
CREATE TABLE unit (
    tenant BLOB NOT NULL,
    id     BLOB NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (id, tenant)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
    consumer TEXT NOT NULL,
    event    BLOB NOT NULL,
    tenant   BLOB NOT NULL,
    seq      INTEGER NOT NULL,
    -- When the event entered the log.
    at       INTEGER NOT NULL,
    PRIMARY KEY (consumer, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE deadline (
    tenant BLOB NOT NULL,
    kind   TEXT NOT NULL,
    id     TEXT NOT NULL,
    slot   INTEGER NOT NULL,
    due    INTEGER NOT NULL,
    -- Not before: when it is due, or later where it has failed.
    try_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    error  TEXT,
    body   TEXT NOT NULL,
    -- Which setting of it this is.
    token  BLOB NOT NULL,
    -- What led to it.
    cause  TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, id)
) STRICT;
-- For what may be tried.
CREATE INDEX deadline_try ON deadline (kind, try_at);

CREATE TABLE effect (
    -- The order of recording, which is the order of calling within a kind and key.
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant   BLOB NOT NULL,
    id       BLOB NOT NULL,
    kind     TEXT NOT NULL,
    key      TEXT NOT NULL,
    slot     INTEGER NOT NULL,
    body     TEXT NOT NULL,
    state    TEXT NOT NULL DEFAULT 'waiting'
             CONSTRAINT known_state CHECK (state IN ('waiting', 'answered', 'done', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Not before; a new one may be tried at once.
    due      INTEGER NOT NULL DEFAULT 0,
    answer   TEXT,
    error    TEXT,
    -- What led to it.
    cause    TEXT NOT NULL,
    at       INTEGER NOT NULL,
    UNIQUE (tenant, id)
) STRICT;
-- For the calls that are to be made, and the order within a key.
CREATE INDEX effect_open ON effect (kind, tenant, key, seq) WHERE state IN ('waiting', 'answered');
-- For listing.
CREATE INDEX effect_dead ON effect (kind, seq) WHERE state = 'dead';

CREATE TABLE node (
    name        TEXT PRIMARY KEY,
    lease_from  INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    -- What it works on: consumers and their numbers of lanes, as JSON.
    runs        TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Into how many lanes a consumer is parted.
CREATE TABLE lane_count (
    consumer TEXT PRIMARY KEY,
    lanes    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lane (
    consumer    TEXT NOT NULL,
    lane        INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    holder      TEXT,
    lease_from  INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    PRIMARY KEY (consumer, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE parked (
    consumer TEXT NOT NULL,
    event    BLOB NOT NULL,
    lane     INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    -- When the event entered the log.
    logged   INTEGER NOT NULL,
    tenant   BLOB NOT NULL,
    subject  TEXT NOT NULL,
    key      TEXT NOT NULL,
    due      INTEGER,
    attempts INTEGER NOT NULL,
    error    TEXT NOT NULL,
    envelope TEXT NOT NULL,
    PRIMARY KEY (consumer, event)
) STRICT;
-- For a lane that is taken over: the first of every key.
CREATE INDEX parked_key ON parked (consumer, lane, tenant, key, seq);

-- Consumers that gave up on themselves; gone when somebody resumes them.
CREATE TABLE suspension (
    consumer TEXT    PRIMARY KEY,
    reason   TEXT    NOT NULL,
    at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE dead (
    consumer TEXT NOT NULL,
    event    BLOB NOT NULL,
    seq      INTEGER NOT NULL,
    logged   INTEGER NOT NULL,
    tenant   BLOB NOT NULL,
    subject  TEXT NOT NULL,
    key      TEXT NOT NULL,
    due      INTEGER,
    attempts INTEGER NOT NULL,
    error    TEXT NOT NULL,
    envelope TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (consumer, event)
) STRICT;
-- For listing.
CREATE INDEX dead_seq ON dead (consumer, seq);
