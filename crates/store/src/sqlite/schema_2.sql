-- Schema 2: what operators do, and what a relay remembers of its stream. Purely additive: a program of schema 1 goes on
-- beside it, and hears of pauses only by being restarted.

-- Everything that an operator did: who, why, to what, and what is needed to undo it. AUTOINCREMENT: a number is never used
-- again.
CREATE TABLE action (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    actor     TEXT NOT NULL,
    reason    TEXT NOT NULL,
    verb      TEXT NOT NULL,
    consumer  TEXT,
    tenant    BLOB,
    key       TEXT,
    event     BLOB,
    -- What is needed to undo it, as JSON.
    detail    TEXT NOT NULL DEFAULT '{}',
    -- The action that undid it.
    undone_by INTEGER,
    CONSTRAINT somebody_for_a_reason CHECK (actor <> '' AND reason <> '')
) STRICT;
-- For the story of a letter.
CREATE INDEX action_letter ON action (consumer, event, id);
-- For the story of a key.
CREATE INDEX action_key ON action (tenant, key, id);

-- Keys that an operator stopped for a consumer.
CREATE TABLE paused_key (
    consumer TEXT NOT NULL,
    tenant   BLOB NOT NULL,
    key      TEXT NOT NULL,
    actor    TEXT NOT NULL,
    reason   TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (consumer, tenant, key)
) STRICT, WITHOUT ROWID;

-- Goes up with everything that an operator changes of a consumer, so that holders of its lanes look again.
CREATE TABLE revision (
    consumer TEXT PRIMARY KEY,
    number   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Letters that were chosen for an action on many: what is added later is not among them.
CREATE TABLE selection (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    filter  TEXT NOT NULL,
    -- Consumers and events, as JSON.
    members TEXT NOT NULL
) STRICT;

-- Letters that an operator took out of the way, with everything that is needed to bring them back.
CREATE TABLE aside (
    consumer TEXT NOT NULL,
    -- An event, or an effect.
    event    BLOB NOT NULL,
    state    TEXT NOT NULL CONSTRAINT known_state CHECK (state IN ('skipped', 'quarantined')),
    -- What it was before.
    was      TEXT NOT NULL CONSTRAINT known_before CHECK (was IN ('parked', 'dead', 'effect')),
    seq      INTEGER NOT NULL,
    logged   INTEGER NOT NULL,
    tenant   BLOB NOT NULL,
    -- None of an effect.
    subject  TEXT,
    key      TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    error    TEXT NOT NULL,
    envelope TEXT NOT NULL,
    -- Where a quarantined one was written.
    folder   TEXT,
    at       INTEGER NOT NULL,
    PRIMARY KEY (consumer, event),
    CONSTRAINT quarantined_iff_written CHECK ((state = 'quarantined') = (folder IS NOT NULL))
) STRICT;

-- Envelopes as they were before somebody repaired them.
CREATE TABLE repair (
    action   INTEGER PRIMARY KEY,
    consumer TEXT NOT NULL,
    event    BLOB NOT NULL,
    tenant   BLOB NOT NULL,
    original TEXT NOT NULL,
    at       INTEGER NOT NULL
) STRICT;
-- For the story of a letter.
CREATE INDEX repair_letter ON repair (consumer, event, action);

-- Failed attempts of events that were parked or given up, the last 50 of each.
CREATE TABLE attempt (
    consumer TEXT NOT NULL,
    event    BLOB NOT NULL,
    number   INTEGER NOT NULL,
    tenant   BLOB NOT NULL,
    key      TEXT NOT NULL,
    at       INTEGER NOT NULL,
    error    TEXT NOT NULL,
    PRIMARY KEY (consumer, event, number)
) STRICT, WITHOUT ROWID;
-- For the story of a key.
CREATE INDEX attempt_key ON attempt (tenant, key, at);

-- How far a relay's stream was when its position was saved.
CREATE TABLE relay (
    consumer       TEXT PRIMARY KEY,
    stream_seq     INTEGER NOT NULL,
    -- When the stream was made, milliseconds after 1970: another one has other numbers.
    stream_created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When a dead letter was published to the dead-letter topic.
ALTER TABLE dead ADD COLUMN fed_at INTEGER;
-- For the relay that feeds that topic.
CREATE INDEX dead_unfed ON dead (at) WHERE fed_at IS NULL;

-- When an event was parked first.
ALTER TABLE parked ADD COLUMN at INTEGER NOT NULL DEFAULT 0;

-- The lives of the store, and the last row of the log when each began.
CREATE TABLE life (
    incarnation INTEGER PRIMARY KEY,
    began       INTEGER NOT NULL
) STRICT;
INSERT INTO life SELECT incarnation, 0 FROM meta;

-- For the calls of a tenant that may be made now, beside those that are held back.
CREATE INDEX effect_due ON effect (kind, tenant, due, seq) WHERE state IN ('waiting', 'answered');

-- What consumers say of themselves when they start: for those who move them, and those who drop the log.
CREATE TABLE declared (
    consumer     TEXT PRIMARY KEY,
    forward_only INTEGER NOT NULL,
    rebuildable  INTEGER NOT NULL,
    -- The stream that feeds it, where it is not the log.
    stream       TEXT,
    -- One a line.
    subjects     TEXT NOT NULL,
    at           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How far retention has come: what belongs to rows up to this number may be gone.
CREATE TABLE pruned (
    what  TEXT PRIMARY KEY,
    up_to INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
