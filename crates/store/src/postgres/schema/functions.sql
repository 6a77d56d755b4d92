-- What the store does in the database. Replaced by every migration; signatures only grow.

-- Makes stretches of the log ahead of its end. LIKE and ATTACH, because CREATE … PARTITION OF waits for every appender.
CREATE OR REPLACE FUNCTION karwan.make_partitions(stretch bigint DEFAULT 1000000, ahead integer DEFAULT 4)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    top  bigint;
    last bigint;
    leaf text;
    made integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('karwan.make_partitions'), 0) THEN
        RETURN 0;
    END IF;
    SELECT coalesce(max(upper), 0) INTO top FROM karwan.partition;
    -- A dirty read, which is enough here: it only says how far ahead to be.
    SELECT last_value INTO last FROM karwan.log_seq;
    WHILE top < last + ahead * stretch LOOP
        leaf := 'log_' || top;
        EXECUTE format('CREATE TABLE karwan.%I (LIKE karwan.log INCLUDING DEFAULTS INCLUDING INDEXES INCLUDING STORAGE)', leaf);
        EXECUTE format('ALTER TABLE karwan.%I ENABLE ROW LEVEL SECURITY', leaf);
        EXECUTE format('ALTER TABLE karwan.%I FORCE ROW LEVEL SECURITY', leaf);
        EXECUTE format('ALTER TABLE karwan.log ATTACH PARTITION karwan.%I FOR VALUES FROM (%s) TO (%s)', leaf, top, top + stretch);
        INSERT INTO karwan.partition VALUES (leaf, top, top + stretch);
        top := top + stretch;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- Makes a leaf of the inbox a week, ahead of the clock. Claims find the rest of time in the default leaf.
CREATE OR REPLACE FUNCTION karwan.make_inbox_leaves(ahead integer DEFAULT 5)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    week timestamptz;
    leaf text;
    made integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('karwan.make_inbox_leaves'), 0) THEN
        RETURN 0;
    END IF;
    FOR place IN 0..ahead LOOP
        week := date_trunc('week', clock_timestamp()) + place * interval '7 days';
        leaf := 'inbox_' || to_char(week, 'YYYYMMDD');
        CONTINUE WHEN to_regclass('karwan.' || leaf) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE TABLE karwan.%I (LIKE karwan.inbox INCLUDING INDEXES INCLUDING STORAGE)', leaf);
            EXECUTE format('ALTER TABLE karwan.%I ENABLE ROW LEVEL SECURITY', leaf);
            EXECUTE format('ALTER TABLE karwan.%I FORCE ROW LEVEL SECURITY', leaf);
            EXECUTE format('ALTER TABLE karwan.inbox ATTACH PARTITION karwan.%I FOR VALUES FROM (%L) TO (%L)',
                           leaf, week, week + interval '7 days');
            made := made + 1;
        EXCEPTION WHEN check_violation OR lock_not_available THEN
            -- A clock that was ahead for a while has left claims of this week in the default leaf; they stay there. Or
            -- somebody reads it right now, and the next start makes the leaf.
            NULL;
        END;
    END LOOP;
    RETURN made;
END $$;

-- A key's number, the same in every language: the first eight bytes of SHA-256 over `<tenant>:<key>`.
CREATE OR REPLACE FUNCTION karwan.key_number(tenant uuid, key text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ('x' || encode(substr(sha256(convert_to(tenant::text || ':' || key, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;
CREATE OR REPLACE FUNCTION karwan.slot(number bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ((number >> 48) & 1023)::smallint
$$;

CREATE OR REPLACE FUNCTION karwan.conflict(kind text, tenant uuid, id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'changed meanwhile' USING ERRCODE = 'KW001', DETAIL = kind || ' ' || tenant || ' ' || id;
END $$;

-- Says why not every intent of a write was new. Never returns.
CREATE OR REPLACE FUNCTION karwan.refuse_intents(
    p_tenant uuid[], p_subject integer[], p_idem text[], p_hash uuid[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    fact  record;
    first record;
    old   integer := 0;
BEGIN
    FOR fact IN
        SELECT i.ord, i.subject, i.idem, i.hash, known.payload_hash AS known_hash, known.event_id AS known_event
        FROM unnest(p_tenant, p_subject, p_idem, p_hash) WITH ORDINALITY AS i(tenant, subject, idem, hash, ord)
        LEFT JOIN LATERAL (
            SELECT payload_hash, event_id FROM karwan.intent
            WHERE tenant_id = i.tenant AND subject = i.subject AND intent.idem = i.idem
        ) known ON true
        ORDER BY i.ord
    LOOP
        CONTINUE WHEN fact.known_event IS NULL;
        IF fact.known_hash <> fact.hash THEN
            RAISE EXCEPTION 'another payload' USING ERRCODE = 'KW004',
                DETAIL = jsonb_build_array((SELECT name FROM karwan.subject WHERE id = fact.subject), fact.idem, fact.known_event);
        END IF;
        IF old = 0 THEN
            first := fact;
        END IF;
        old := old + 1;
    END LOOP;
    IF old = cardinality(p_idem) THEN
        RAISE EXCEPTION 'repeated' USING ERRCODE = 'KW003', DETAIL = first.known_event;
    END IF;
    IF old = 0 THEN
        SELECT i.subject, i.idem INTO first
        FROM unnest(p_tenant, p_subject, p_idem) AS i(tenant, subject, idem)
        GROUP BY i.tenant, i.subject, i.idem HAVING count(*) > 1 LIMIT 1;
        IF NOT FOUND THEN
            -- Whoever had it was pruned between two statements.
            PERFORM karwan.conflict('intent', p_tenant[1], p_idem[1]);
        END IF;
    END IF;
    RAISE EXCEPTION 'mixed' USING ERRCODE = 'KW006',
        DETAIL = jsonb_build_array((SELECT name FROM karwan.subject WHERE id = first.subject), first.idem);
END $$;

-- A lane's writes are made only under the epoch with which it was taken: the lock first, then the check in a statement of
-- its own, so that a take-over is either before both or after the commit.
CREATE OR REPLACE FUNCTION karwan.check_lane(p_consumer text, p_lane integer, p_epoch bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    said text;
BEGIN
    said := pg_advisory_xact_lock_shared(hashtext('karwan.lane.' || p_consumer), p_lane);
    PERFORM FROM karwan.lane WHERE consumer = p_consumer AND lane = p_lane AND epoch = p_epoch AND holder IS NOT NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'lane lost' USING ERRCODE = 'KW008', DETAIL = p_consumer || ' ' || p_lane;
    END IF;
END $$;

-- Saves how far a lane is, and gives it up where that is wanted.
CREATE OR REPLACE FUNCTION karwan.save_position(
    p_consumer text, p_lane integer, p_epoch bigint, p_position bigint, p_release boolean
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM karwan.check_lane(p_consumer, p_lane, p_epoch);
    UPDATE karwan.lane
    SET position = greatest(position, p_position), holder = CASE WHEN p_release THEN NULL ELSE holder END,
        until = CASE WHEN p_release THEN NULL ELSE until END
    WHERE consumer = p_consumer AND lane = p_lane;
END $$;

-- Saves how far some lanes are; answers which of them, by their places, somebody else holds by now. Their locks first, all of them,
-- then their rows: both in one order, as whoever else wants several.
CREATE OR REPLACE FUNCTION karwan.save_positions(p_consumer text[], p_lane integer[], p_epoch bigint[], p_position bigint[])
RETURNS SETOF integer LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtext('karwan.lane.' || n.consumer), n.lane) FROM (
        SELECT * FROM unnest(p_consumer, p_lane) AS u(consumer, lane) ORDER BY hashtext('karwan.lane.' || u.consumer), u.lane) AS n;
    RETURN QUERY WITH held AS MATERIALIZED (
        SELECT l.consumer, l.lane, n.place, n.ord
        FROM unnest(p_consumer, p_lane, p_epoch, p_position) WITH ORDINALITY AS n(consumer, lane, epoch, place, ord)
        JOIN karwan.lane l ON l.consumer = n.consumer AND l.lane = n.lane AND l.epoch = n.epoch AND l.holder IS NOT NULL
        ORDER BY l.consumer, l.lane FOR NO KEY UPDATE OF l
    ), saved AS (
        UPDATE karwan.lane l SET position = greatest(l.position, held.place)
        FROM held WHERE l.consumer = held.consumer AND l.lane = held.lane
    )
    SELECT n FROM generate_series(1, cardinality(p_lane)) AS n WHERE NOT EXISTS (SELECT FROM held WHERE held.ord = n);
END $$;

-- Takes events that were parked, and are handled now, out of those that wait; raises where one is not there.
CREATE OR REPLACE FUNCTION karwan.unpark(p_consumer text[], p_hold integer[], p_event uuid[], p_parked boolean[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    FOR k IN 1..cardinality(p_event) LOOP
        CONTINUE WHEN NOT p_parked[k];
        DELETE FROM karwan.parked WHERE consumer = p_consumer[p_hold[k]] AND event_id = p_event[k];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'not parked' USING ERRCODE = 'KW007', DETAIL = p_event[k];
        END IF;
    END LOOP;
END $$;

-- Says which of some claims cannot be made: of an event that is handled already, or that is parked and came live. Never returns.
CREATE OR REPLACE FUNCTION karwan.refuse_claims(
    p_consumer text[], p_hold integer[], p_event uuid[], p_seq bigint[], p_logged timestamptz[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- One that is twice in the claim itself has no other row.
    RAISE EXCEPTION 'handled' USING ERRCODE = 'KW007', DETAIL = coalesce((
        SELECT p_event[k] FROM generate_series(1, cardinality(p_event)) AS k
        WHERE (SELECT i.seq FROM karwan.inbox i
               WHERE i.consumer = p_consumer[p_hold[k]] AND i.event_id = p_event[k] AND i.at = p_logged[k]) IS NOT NULL
           OR (SELECT p.seq FROM karwan.parked p
               WHERE p.consumer = p_consumer[p_hold[k]] AND p.event_id = p_event[k]) IS NOT NULL
        ORDER BY p_seq[k] LIMIT 1), p_event[1]);
END $$;

-- Notes what became of calls: an answer is taken of a waiting one alone, and counts its own attempts; it may be tried again or given
-- up until it is done. Answers which of them, by their places, nobody waits for any more. Their states are not asked for by `=`: the
-- planner would look for each among all that are open.
CREATE OR REPLACE FUNCTION karwan.record_effects(
    p_consumer text, p_lane integer, p_epoch bigint, p_tenant uuid[], p_id uuid[], p_state text[], p_answer text[],
    p_due timestamptz[], p_error text[], p_counted integer[]
) RETURNS SETOF integer LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM karwan.check_lane(p_consumer, p_lane, p_epoch);
    RETURN QUERY WITH recorded AS (
        UPDATE karwan.effect e
        SET state = coalesce(n.state, e.state), answer = coalesce(n.answer, e.answer), due = coalesce(n.due, e.due),
            error = coalesce(n.error, e.error), attempts = CASE WHEN n.state = 'answered' THEN 0 ELSE e.attempts + n.counted END
        FROM unnest(p_tenant, p_id, p_state, p_answer, p_due, p_error, p_counted) WITH ORDINALITY
            AS n(tenant, id, state, answer, due, error, counted, ord)
        WHERE e.tenant_id = ANY (ARRAY[n.tenant]) AND e.id = n.id
          AND (e.state IS NOT DISTINCT FROM 'waiting' OR e.state IS NOT DISTINCT FROM 'answered' AND n.state IS DISTINCT FROM 'answered')
        RETURNING n.ord
    )
    SELECT n FROM generate_series(1, cardinality(p_id)) AS n WHERE NOT EXISTS (SELECT FROM recorded WHERE recorded.ord = n);
END $$;

-- Writes everything that a unit, a batch of them, or several of either collected; raises where a rule is broken, and nothing
-- stays. What is not there is NULL: a parameter costs as much as some of the statements, and so does every expression, which each
-- transaction makes ready anew. Who waits longer than `p_wait_ms` for somebody else is refused, where that is not 0.
-- Its plans are made once, by settings of the connection: for arrays of a few members the planner believes that a plan for these very
-- members is cheaper, and would make one every time. They look up
-- one row after the other, whatever was known when they were made: a tenant is asked for by `= ANY (ARRAY[…])` where rows are joined,
-- because by `=` a plan made while a table was small goes through all of it in the order of its key, also when it has grown.
-- Lock order: lanes and keys by number; unit ids; claims by seq; documents by (kind, tenant, id); deadlines and effects;
-- intents by (tenant, subject, idem); facts last, in emission order. Keys, unit ids, claims, documents and deadlines come sorted so, and
-- `p_intent` gives the places of the facts in the order of their intents: an
-- insert takes the members of its arrays as they come. Members are taken by their
-- places: of several arrays unnested beside each other each is written down first.
-- Documents come in stretches of one kind: its name, where it ends, how many of it are put, and what is known of all of it (1: they
-- are merely looked at; 2: they were there when they were read).
-- Claims are plain inserts with a handler, and so are intents: ON CONFLICT looks twice.
CREATE OR REPLACE FUNCTION karwan.flush_set(
    p_tenants text, p_wait_ms integer DEFAULT 0,
    p_consumer text[] DEFAULT NULL, p_lane integer[] DEFAULT NULL, p_epoch bigint[] DEFAULT NULL,
    p_claim_hold integer[] DEFAULT NULL, p_claim_tenant uuid[] DEFAULT NULL, p_claim_event uuid[] DEFAULT NULL,
    p_claim_seq bigint[] DEFAULT NULL, p_claim_logged timestamptz[] DEFAULT NULL, p_claim_parked boolean[] DEFAULT NULL,
    p_locks bigint[] DEFAULT NULL,
    p_unit_tenant uuid[] DEFAULT NULL, p_unit uuid[] DEFAULT NULL,
    p_doc_kind text[] DEFAULT NULL, p_doc_end integer[] DEFAULT NULL, p_doc_puts integer[] DEFAULT NULL, p_doc_all integer[] DEFAULT NULL,
    p_doc_tenant uuid[] DEFAULT NULL, p_doc_id text[] DEFAULT NULL, p_doc_version bigint[] DEFAULT NULL,
    p_doc_blind boolean[] DEFAULT NULL, p_doc_action smallint[] DEFAULT NULL, p_doc_shape integer[] DEFAULT NULL,
    p_doc_body text[] DEFAULT NULL, p_doc_width integer DEFAULT 0, p_doc_fields text[] DEFAULT NULL,
    p_fired_tenant uuid[] DEFAULT NULL, p_fired_kind text[] DEFAULT NULL, p_fired_id text[] DEFAULT NULL, p_fired_token uuid[] DEFAULT NULL,
    p_settled_tenant uuid[] DEFAULT NULL, p_settled uuid[] DEFAULT NULL,
    p_due_tenant uuid[] DEFAULT NULL, p_due_kind text[] DEFAULT NULL, p_due_id text[] DEFAULT NULL, p_due_slot smallint[] DEFAULT NULL,
    p_due timestamptz[] DEFAULT NULL, p_due_body text[] DEFAULT NULL, p_due_token uuid[] DEFAULT NULL, p_due_cause text[] DEFAULT NULL,
    p_effect_tenant uuid[] DEFAULT NULL, p_effect uuid[] DEFAULT NULL, p_effect_kind text[] DEFAULT NULL, p_effect_key text[] DEFAULT NULL,
    p_effect_slot smallint[] DEFAULT NULL, p_effect_body text[] DEFAULT NULL, p_effect_cause text[] DEFAULT NULL,
    p_tenant uuid[] DEFAULT NULL, p_subject integer[] DEFAULT NULL, p_key text[] DEFAULT NULL, p_slot smallint[] DEFAULT NULL,
    p_event uuid[] DEFAULT NULL, p_idem text[] DEFAULT NULL, p_hash uuid[] DEFAULT NULL, p_envelope text[] DEFAULT NULL,
    p_intent integer[] DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n    bigint;
    done bigint;
    hold record;
    -- What is only called is assigned to it: that is evaluated at once, where PERFORM starts an executor.
    said text;
BEGIN
    said := set_config('app.tenants', p_tenants, true);
    IF p_wait_ms > 0 THEN
        said := set_config('lock_timeout', p_wait_ms::text, true);
    END IF;
    IF p_consumer IS NOT NULL THEN
        IF cardinality(p_consumer) = 1 THEN
            said := karwan.check_lane(p_consumer[1], p_lane[1], p_epoch[1]);
        ELSE
            FOR hold IN
                SELECT h.consumer, h.lane, h.epoch FROM unnest(p_consumer, p_lane, p_epoch) AS h(consumer, lane, epoch)
                ORDER BY hashtext('karwan.lane.' || h.consumer), h.lane
            LOOP
                said := karwan.check_lane(hold.consumer, hold.lane, hold.epoch);
            END LOOP;
        END IF;
    END IF;
    IF p_locks IS NOT NULL THEN
        FOREACH n IN ARRAY p_locks LOOP
            said := pg_advisory_xact_lock(n);
        END LOOP;
    END IF;
    IF p_unit IS NOT NULL THEN
        n := cardinality(p_unit);
        INSERT INTO karwan.unit (tenant_id, id) SELECT p_unit_tenant[k], p_unit[k] FROM generate_series(1, n) AS k ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS done = ROW_COUNT;
        IF done < n THEN
            RAISE EXCEPTION 'repeated' USING ERRCODE = 'KW002';
        END IF;
    END IF;
    IF p_claim_event IS NOT NULL THEN
        n := cardinality(p_claim_event);
        -- Which of the holds a claim is under, also where there is one: for a `coalesce` in a condition no index is sought, as row-level
        -- security takes it for something that could tell what it was shown.
        p_claim_hold := coalesce(p_claim_hold, array_fill(1, ARRAY[n::integer]));
        IF p_claim_parked IS NOT NULL THEN
            said := karwan.unpark(p_consumer, p_claim_hold, p_claim_event, p_claim_parked);
        END IF;
        BEGIN
            -- A live event that is parked waits its turn: its key would overtake itself. Mostly nothing is parked at all, which the
            -- size of the table says: whether there is any row would be asked under the policy, of every row of other tenants in turn.
            INSERT INTO karwan.inbox (consumer, event_id, tenant_id, seq, at)
            SELECT p_consumer[p_claim_hold[k]], p_claim_event[k], p_claim_tenant[k], p_claim_seq[k], p_claim_logged[k]
            FROM generate_series(1, n) AS k
            WHERE (SELECT pg_relation_size('karwan.parked')) = 0
               OR (SELECT p.seq FROM karwan.parked p
                   WHERE p.consumer = p_consumer[p_claim_hold[k]] AND p.event_id = p_claim_event[k]) IS NULL;
            GET DIAGNOSTICS done = ROW_COUNT;
        EXCEPTION WHEN unique_violation THEN
            done := 0;
        END;
        IF done < n THEN
            said := karwan.refuse_claims(p_consumer, p_claim_hold, p_claim_event, p_claim_seq, p_claim_logged);
        END IF;
    END IF;
    IF p_doc_kind IS NOT NULL THEN
        said := karwan.write_stretches(p_doc_kind, p_doc_end, p_doc_puts, p_doc_all, p_doc_tenant, p_doc_id, p_doc_version, p_doc_blind,
                                       p_doc_action, p_doc_shape, p_doc_body, p_doc_width, p_doc_fields);
    END IF;
    IF p_due_id IS NOT NULL OR p_fired_id IS NOT NULL OR p_settled IS NOT NULL OR p_effect IS NOT NULL THEN
        said := karwan.flush_tasks(p_fired_tenant, p_fired_kind, p_fired_id, p_fired_token, p_settled_tenant, p_settled,
                                   p_due_tenant, p_due_kind, p_due_id, p_due_slot, p_due, p_due_body, p_due_token, p_due_cause,
                                   p_effect_tenant, p_effect, p_effect_kind, p_effect_key, p_effect_slot, p_effect_body, p_effect_cause);
    END IF;
    IF p_event IS NULL THEN
        -- Nobody waits for where the log stood when an event was handled.
        RETURN CASE WHEN p_claim_event IS NULL THEN karwan.highest() ELSE p_claim_seq[n] END;
    END IF;
    n := cardinality(p_event);
    BEGIN
        INSERT INTO karwan.intent (tenant_id, subject, idem, payload_hash, event_id)
        SELECT p_tenant[k], p_subject[k], p_idem[k], p_hash[k], p_event[k] FROM unnest(p_intent) AS k;
    EXCEPTION WHEN unique_violation THEN
        said := karwan.refuse_intents(p_tenant, p_subject, p_idem, p_hash);
    END;
    INSERT INTO karwan.log (tenant_id, subject, key, slot, event_id, envelope)
    SELECT p_tenant[k], p_subject[k], p_key[k], p_slot[k], p_event[k], p_envelope[k] FROM generate_series(1, n) AS k;
    done := currval('karwan.log_seq');
    IF done % 100000 < n THEN
        said := karwan.make_partitions();
    END IF;
    RETURN done;
END $$;

-- What a flush does to deadlines and effects.
CREATE OR REPLACE FUNCTION karwan.flush_tasks(
    p_fired_tenant uuid[], p_fired_kind text[], p_fired_id text[], p_fired_token uuid[],
    p_settled_tenant uuid[], p_settled uuid[],
    p_due_tenant uuid[], p_due_kind text[], p_due_id text[], p_due_slot smallint[], p_due timestamptz[], p_due_body text[],
    p_due_token uuid[], p_due_cause text[],
    p_effect_tenant uuid[], p_effect uuid[], p_effect_kind text[], p_effect_key text[], p_effect_slot smallint[],
    p_effect_body text[], p_effect_cause text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    done bigint;
BEGIN
    IF p_due_id IS NOT NULL OR cardinality(p_fired_id) > 1 THEN
        -- Locked in their order first, so that a cancel and a set of two units do not cross.
        PERFORM FROM (
            SELECT * FROM (
                SELECT * FROM unnest(p_fired_tenant, p_fired_kind, p_fired_id) AS f(tenant, kind, id)
                UNION ALL SELECT * FROM unnest(p_due_tenant, p_due_kind, p_due_id)) AS wanted
            ORDER BY tenant, kind COLLATE "C", id COLLATE "C") AS n,
        LATERAL (
            SELECT FROM karwan.deadline d WHERE d.tenant_id = n.tenant AND d.kind = n.kind AND d.id = n.id FOR UPDATE) AS held;
    END IF;
    -- One by one: of several, a plan that was made while few were set reads all that there are.
    FOR k IN 1..coalesce(cardinality(p_fired_id), 0) LOOP
        DELETE FROM karwan.deadline d
        WHERE d.tenant_id = p_fired_tenant[k] AND d.kind = p_fired_kind[k] AND d.id = p_fired_id[k] AND d.token = p_fired_token[k];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'gone' USING ERRCODE = 'KW010', DETAIL = 'the deadline ' || p_fired_kind[k] || ' ' || p_fired_id[k];
        END IF;
    END LOOP;
    IF p_settled IS NOT NULL THEN
        -- Their state not by `=`: the planner would look for them among all that are open.
        UPDATE karwan.effect e SET state = 'done' FROM generate_series(1, cardinality(p_settled)) AS k
        WHERE e.tenant_id = ANY (ARRAY[p_settled_tenant[k]]) AND e.id = p_settled[k] AND e.state IS NOT DISTINCT FROM 'answered';
        GET DIAGNOSTICS done = ROW_COUNT;
        IF done < cardinality(p_settled) THEN
            RAISE EXCEPTION 'gone' USING ERRCODE = 'KW010', DETAIL = 'the effect ' || p_settled[1];
        END IF;
    END IF;
    IF p_due_id IS NOT NULL THEN
        FOR k IN 1..cardinality(p_due_id) LOOP
            CONTINUE WHEN p_due[k] IS NOT NULL;
            DELETE FROM karwan.deadline d WHERE d.tenant_id = p_due_tenant[k] AND d.kind = p_due_kind[k] AND d.id = p_due_id[k];
        END LOOP;
        INSERT INTO karwan.deadline (tenant_id, kind, id, slot, due, try_at, body, token, cause)
        SELECT p_due_tenant[k], p_due_kind[k], p_due_id[k], p_due_slot[k], p_due[k], p_due[k], p_due_body[k], p_due_token[k],
            p_due_cause[k]
        FROM generate_series(1, cardinality(p_due_id)) AS k WHERE p_due[k] IS NOT NULL
        ON CONFLICT (tenant_id, kind, id) DO UPDATE
        SET due = excluded.due, try_at = excluded.try_at, attempts = 0, error = NULL, body = excluded.body,
            token = excluded.token, cause = excluded.cause;
    END IF;
    IF p_effect IS NOT NULL THEN
        done := nextval('karwan.effect_seq');
        INSERT INTO karwan.effect (id, tenant_id, seq, kind, key, slot, body, cause)
        SELECT p_effect[k], p_effect_tenant[k], done + k, p_effect_kind[k], p_effect_key[k], p_effect_slot[k], p_effect_body[k],
            p_effect_cause[k]
        FROM generate_series(1, cardinality(p_effect)) AS k
        ORDER BY p_effect_tenant[k], p_effect[k]
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- Every hundred thousand numbers somebody looks whether enough stretches are ahead.
CREATE OR REPLACE FUNCTION karwan.keep_ahead() RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $$
    SELECT karwan.make_partitions() + karwan.make_inbox_leaves()
$$;

-- The highest visible number of the log, or its floor. The newest stretch is looked at first, and the others not at all: no plan
-- that sorts them is taken, also where it is made while they are empty.
CREATE OR REPLACE FUNCTION karwan.highest() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
    top bigint;
BEGIN
    SELECT seq INTO top FROM karwan.log ORDER BY seq DESC LIMIT 1;
    RETURN coalesce(top, (SELECT floor FROM karwan.meta));
END $$;

-- Whether a unit with this id was committed: how a lost answer is looked up. `void` claims an id that was not, so that a
-- flush with it that still arrives is refused.
CREATE OR REPLACE FUNCTION karwan.unit_committed(p_tenant uuid, p_unit uuid, void boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    fresh bigint;
BEGIN
    PERFORM set_config('app.tenants', ARRAY[p_tenant]::text, true);
    -- The insert waits for a flush of this unit that is still under way.
    INSERT INTO karwan.unit (tenant_id, id) VALUES (p_tenant, p_unit) ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS fresh = ROW_COUNT;
    IF fresh = 1 AND NOT void THEN
        DELETE FROM karwan.unit WHERE tenant_id = p_tenant AND id = p_unit;
    END IF;
    RETURN fresh = 0;
END $$;

-- Writes a document that the start-up probe looks for, and answers its tenant. The caller rolls back.
CREATE OR REPLACE FUNCTION karwan.canary() RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant uuid := gen_random_uuid();
BEGIN
    PERFORM set_config('app.tenants', ARRAY[tenant]::text, true);
    INSERT INTO karwan.doc_guard (tenant_id, id, version, shape) VALUES (tenant, 'karwan.canary', 0, 1);
    RETURN tenant;
END $$;
