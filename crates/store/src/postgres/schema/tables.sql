-- The store's tables. Applied once, as the owner; later schemas only add.

CREATE TABLE karwan.meta (
    only_row    boolean PRIMARY KEY DEFAULT true CONSTRAINT one_row CHECK (only_row),
    schema      bigint  NOT NULL,
    admits_from bigint  NOT NULL,
    floor       bigint  NOT NULL DEFAULT 0
);

-- A life of the store: positions of another life mean other events.
CREATE TABLE karwan.incarnation (
    number            bigint      PRIMARY KEY,
    system_identifier text        NOT NULL,
    timeline          bigint      NOT NULL,
    started_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    suspended         boolean     NOT NULL
);

-- The catalogue, as far as the database must know it.
CREATE TABLE karwan.subject (
    id           integer PRIMARY KEY,
    name         text    NOT NULL UNIQUE,
    aliases      text[]  NOT NULL,
    producers    text[]  NOT NULL,
    tenancy      text    NOT NULL,
    retention    text    NOT NULL,
    ai           text    NOT NULL,
    local_only   boolean NOT NULL,
    -- The document kind that orders its facts.
    carrier      text,
    -- The tenant's name in payloads: `uuid`, `ulid` or the prefix of a ULID.
    tenant_forms text[]  NOT NULL
);

-- Every schema that a program has brought, by its content hash: a program reads what another release wrote.
CREATE TABLE karwan.schema (
    hash     text PRIMARY KEY,
    path     text NOT NULL,
    document text NOT NULL
);

-- The envelope around a payload that comes by karwan.append: pieces of text, and at every second place the name of what is
-- put in. One for each kind of actor, with and without an event that led to it.
CREATE TABLE karwan.template (
    subject integer NOT NULL REFERENCES karwan.subject,
    actor   text    NOT NULL,
    caused  boolean NOT NULL,
    pieces  text[]  NOT NULL,
    PRIMARY KEY (subject, actor, caused)
);

-- Which service a login speaks for, in karwan.append.
CREATE TABLE karwan.login (
    login   name PRIMARY KEY,
    service text NOT NULL
);

-- Document kinds, and how far the backfill of a new field has come.
CREATE TABLE karwan.kind (
    name    text    PRIMARY KEY,
    shape   integer NOT NULL,
    carries text
);
CREATE TABLE karwan.field (
    kind        text    NOT NULL REFERENCES karwan.kind,
    name        text    NOT NULL,
    of          text    NOT NULL,
    filled      boolean NOT NULL,
    -- Everything up to this document has the field.
    at_tenant   uuid,
    at_id       text,
    PRIMARY KEY (kind, name)
);

-- The lists of fields that programs of this store declare; each has a put of its own.
CREATE TABLE karwan.signature (
    kind   text   NOT NULL REFERENCES karwan.kind,
    token  text   PRIMARY KEY,
    fields text[] NOT NULL
);

CREATE SEQUENCE karwan.log_seq AS bigint CACHE 1;
CREATE TABLE karwan.log (
    seq       bigint      NOT NULL DEFAULT nextval('karwan.log_seq'),
    tenant_id uuid        NOT NULL,
    subject   integer     NOT NULL,
    key       text        NOT NULL,
    slot      smallint    NOT NULL,
    event_id  uuid        NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    envelope  text        NOT NULL,
    PRIMARY KEY (seq)
) PARTITION BY RANGE (seq);
-- For reading one tenant, and for the sweep over tenants.
CREATE INDEX log_tenant ON karwan.log (tenant_id, seq);
-- The stretches of the log, in order.
CREATE TABLE karwan.partition (
    leaf  text   PRIMARY KEY,
    lower bigint NOT NULL UNIQUE,
    upper bigint NOT NULL
);

-- Business intents: the same one twice is recognised for at least 30 days.
CREATE TABLE karwan.intent (
    tenant_id    uuid        NOT NULL,
    subject      integer     NOT NULL,
    idem         text        COLLATE "C" NOT NULL,
    payload_hash uuid        NOT NULL,
    event_id     uuid        NOT NULL,
    at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, subject, idem)
);
-- For pruning.
CREATE INDEX intent_at ON karwan.intent USING brin (at);

-- Ids of units from outside: each commits once. Most ids grow with time, so that new ones lie side by side.
CREATE TABLE karwan.unit (
    tenant_id uuid        NOT NULL,
    id        uuid        NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, tenant_id)
);
-- For pruning.
CREATE INDEX unit_at ON karwan.unit USING brin (at);

CREATE TABLE karwan.inbox (
    consumer  text        COLLATE "C" NOT NULL,
    event_id  uuid        NOT NULL,
    tenant_id uuid        NOT NULL,
    seq       bigint      NOT NULL,
    -- When the event entered the log, to the millisecond: the same whenever it is claimed, so the key below is unique.
    at        timestamptz NOT NULL,
    PRIMARY KEY (consumer, event_id, at)
) PARTITION BY RANGE (at);
-- Whatever no leaf is ahead for, such as events that were read weeks after they were logged.
CREATE TABLE karwan.inbox_else PARTITION OF karwan.inbox DEFAULT;
ALTER TABLE karwan.inbox_else ENABLE ROW LEVEL SECURITY;
ALTER TABLE karwan.inbox_else FORCE ROW LEVEL SECURITY;

CREATE TABLE karwan.deadline (
    tenant_id uuid        NOT NULL,
    kind      text        COLLATE "C" NOT NULL,
    id        text        COLLATE "C" NOT NULL,
    slot      smallint    NOT NULL,
    due       timestamptz NOT NULL,
    -- Not before: when it is due, or later where it has failed.
    try_at    timestamptz NOT NULL,
    attempts  integer     NOT NULL DEFAULT 0,
    error     text,
    body      text        NOT NULL,
    -- Which setting of it this is.
    token     uuid        NOT NULL,
    -- What led to it.
    cause     text        NOT NULL,
    PRIMARY KEY (tenant_id, kind, id)
);
-- For what may be tried.
CREATE INDEX deadline_try ON karwan.deadline (kind, try_at);

-- A flush draws one number, and counts its effects on from there.
CREATE SEQUENCE karwan.effect_seq AS bigint INCREMENT BY 1024 CACHE 1;
CREATE TABLE karwan.effect (
    tenant_id uuid        NOT NULL,
    id        uuid        NOT NULL,
    -- The order of recording, which is the order of calling within a kind and key.
    seq       bigint      NOT NULL,
    kind      text        COLLATE "C" NOT NULL,
    key       text        COLLATE "C" NOT NULL,
    slot      smallint    NOT NULL,
    body      text        NOT NULL,
    state     text        NOT NULL DEFAULT 'waiting'
              CONSTRAINT known_state CHECK (state IN ('waiting', 'answered', 'done', 'dead')),
    attempts  integer     NOT NULL DEFAULT 0,
    -- Not before; a new one may be tried at once.
    due       timestamptz NOT NULL DEFAULT 'epoch',
    answer    text,
    error     text,
    -- What led to it.
    cause     text        NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);
-- For the calls that are to be made, and the order within a key.
CREATE INDEX effect_open ON karwan.effect (kind, tenant_id, key, seq) WHERE state IN ('waiting', 'answered');
-- For listing.
CREATE INDEX effect_dead ON karwan.effect (kind, seq) WHERE state = 'dead';

CREATE TABLE karwan.node (
    name  text        PRIMARY KEY,
    until timestamptz NOT NULL,
    -- What it works on: consumers and their numbers of lanes, as JSON.
    runs  text        NOT NULL DEFAULT '[]'
);
-- Into how many lanes a consumer is parted.
CREATE TABLE karwan.lane_count (
    consumer text     COLLATE "C" PRIMARY KEY,
    lanes    smallint NOT NULL
);
CREATE TABLE karwan.lane (
    consumer text        COLLATE "C" NOT NULL,
    lane     smallint    NOT NULL,
    position bigint      NOT NULL DEFAULT 0,
    epoch    bigint      NOT NULL DEFAULT 0,
    holder   text,
    until    timestamptz,
    PRIMARY KEY (consumer, lane),
    CONSTRAINT held_iff_leased CHECK ((holder IS NULL) = (until IS NULL))
);

CREATE TABLE karwan.parked (
    consumer  text        COLLATE "C" NOT NULL,
    event_id  uuid        NOT NULL,
    lane      smallint    NOT NULL,
    seq       bigint      NOT NULL,
    -- When the event entered the log.
    logged    timestamptz NOT NULL,
    tenant_id uuid        NOT NULL,
    subject   integer     NOT NULL,
    key       text        NOT NULL,
    due       timestamptz,
    attempts  integer     NOT NULL,
    error     text        NOT NULL,
    envelope  text        NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, event_id)
);
-- For a lane that is taken over: the first of every key.
CREATE INDEX parked_key ON karwan.parked (consumer, lane, tenant_id, key, seq);

-- Consumers that gave up on themselves; gone when somebody resumes them.
CREATE TABLE karwan.suspension (
    consumer text        COLLATE "C" PRIMARY KEY,
    reason   text        NOT NULL,
    at       timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE karwan.dead (
    consumer  text        COLLATE "C" NOT NULL,
    event_id  uuid        NOT NULL,
    seq       bigint      NOT NULL,
    logged    timestamptz NOT NULL,
    tenant_id uuid        NOT NULL,
    subject   integer     NOT NULL,
    key       text        NOT NULL,
    attempts  integer     NOT NULL,
    error     text        NOT NULL,
    envelope  text        NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, event_id)
);
-- For listing.
CREATE INDEX dead_seq ON karwan.dead (consumer, seq);
