-- Schema 2: what operators do, and what a relay remembers of its stream. Purely additive: a program of schema 1 goes on
-- beside it, and hears of pauses only by being restarted.

-- Everything that an operator did: who, why, to what, and what is needed to undo it.
CREATE TABLE karwan.action (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor     text        NOT NULL,
    reason    text        NOT NULL,
    verb      text        NOT NULL,
    consumer  text        COLLATE "C",
    tenant_id uuid,
    key       text,
    event_id  uuid,
    -- What is needed to undo it, as JSON.
    detail    text        NOT NULL DEFAULT '{}',
    -- The action that undid it.
    undone_by bigint,
    CONSTRAINT somebody_for_a_reason CHECK (actor <> '' AND reason <> '')
);
-- For the story of a letter.
CREATE INDEX action_letter ON karwan.action (consumer, event_id, id);
-- For the story of a key.
CREATE INDEX action_key ON karwan.action (tenant_id, key, id);

-- Keys that an operator stopped for a consumer.
CREATE TABLE karwan.paused_key (
    consumer  text        COLLATE "C" NOT NULL,
    tenant_id uuid        NOT NULL,
    key       text        NOT NULL,
    actor     text        NOT NULL,
    reason    text        NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, tenant_id, key)
);

-- Goes up with everything that an operator changes of a consumer, so that holders of its lanes look again.
CREATE TABLE karwan.revision (
    consumer text   COLLATE "C" PRIMARY KEY,
    number   bigint NOT NULL
);

-- Letters that were chosen for an action on many: what is added later is not among them.
CREATE TABLE karwan.selection (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor   text        NOT NULL,
    filter  text        NOT NULL,
    -- Consumers and events, as JSON.
    members text        NOT NULL
);

-- Letters that an operator took out of the way, with everything that is needed to bring them back.
CREATE TABLE karwan.aside (
    consumer  text        COLLATE "C" NOT NULL,
    -- An event, or an effect.
    event_id  uuid        NOT NULL,
    state     text        NOT NULL CONSTRAINT known_state CHECK (state IN ('skipped', 'quarantined')),
    -- What it was before.
    was       text        NOT NULL CONSTRAINT known_before CHECK (was IN ('parked', 'dead', 'effect')),
    seq       bigint      NOT NULL,
    logged    timestamptz NOT NULL,
    tenant_id uuid        NOT NULL,
    -- None of an effect.
    subject   integer,
    key       text        NOT NULL,
    attempts  integer     NOT NULL,
    error     text        NOT NULL,
    envelope  text        NOT NULL,
    -- Where a quarantined one was written.
    folder    text,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, event_id),
    CONSTRAINT quarantined_iff_written CHECK ((state = 'quarantined') = (folder IS NOT NULL))
);

-- Envelopes as they were before somebody repaired them.
CREATE TABLE karwan.repair (
    action    bigint PRIMARY KEY,
    consumer  text   COLLATE "C" NOT NULL,
    event_id  uuid   NOT NULL,
    tenant_id uuid   NOT NULL,
    original  text   NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- For the story of a letter.
CREATE INDEX repair_letter ON karwan.repair (consumer, event_id, action);

-- Failed attempts of events that were parked or given up, the last 50 of each.
CREATE TABLE karwan.attempt (
    consumer  text        COLLATE "C" NOT NULL,
    event_id  uuid        NOT NULL,
    number    integer     NOT NULL,
    tenant_id uuid        NOT NULL,
    key       text        NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    error     text        NOT NULL,
    PRIMARY KEY (consumer, event_id, number)
);
-- For the story of a key.
CREATE INDEX attempt_key ON karwan.attempt (tenant_id, key, at);

-- How far a relay's stream was when its position was saved.
CREATE TABLE karwan.relay (
    consumer       text   COLLATE "C" PRIMARY KEY,
    stream_seq     bigint NOT NULL,
    -- When the stream was made, milliseconds after 1970: another one has other numbers.
    stream_created bigint NOT NULL
);

-- When a dead letter was published to the dead-letter topic.
ALTER TABLE karwan.dead ADD COLUMN fed_at timestamptz;
-- For the relay that feeds that topic.
CREATE INDEX dead_unfed ON karwan.dead (at) WHERE fed_at IS NULL;

-- The last row of the log when a life began: what came with the copy.
ALTER TABLE karwan.incarnation ADD COLUMN began bigint NOT NULL DEFAULT 0;

-- For the calls of a tenant that may be made now, beside those that are held back.
CREATE INDEX effect_due ON karwan.effect (kind, tenant_id, due, seq) WHERE state IN ('waiting', 'answered');

-- What consumers say of themselves when they start: for those who move them, and those who drop the log.
CREATE TABLE karwan.declared (
    consumer     text        COLLATE "C" PRIMARY KEY,
    forward_only boolean     NOT NULL,
    rebuildable  boolean     NOT NULL,
    -- The stream that feeds it, where it is not the log.
    stream       text,
    subjects     text[]      NOT NULL,
    at           timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- How far retention has come: what belongs to rows up to this number may be gone.
CREATE TABLE karwan.pruned (
    what  text   PRIMARY KEY,
    up_to bigint NOT NULL
);
