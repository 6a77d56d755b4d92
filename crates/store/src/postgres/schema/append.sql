-- The log for other languages and for people's own tables: one call in their own transaction.

-- The 26 characters of a ULID with the bits of a UUID.
CREATE OR REPLACE FUNCTION karwan.ulid(id uuid) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bits varbit := ('x00' || replace(id::text, '-', ''))::bit(136);
    text text := '';
BEGIN
    -- 130 bits in groups of five; the first six of the 136 are padding.
    FOR place IN 0..25 LOOP
        text := text || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substring(bits FROM 7 + place * 5 FOR 5)::bit(5)::integer + 1, 1);
    END LOOP;
    RETURN text;
END $$;

-- A fresh id of version 7.
CREATE OR REPLACE FUNCTION karwan.fresh_id() RETURNS uuid
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
        || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14, 3)
        || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid
$$;

-- A text as it stands inside a JSON string.
CREATE OR REPLACE FUNCTION karwan.json_inside(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT substr(to_json(value)::text, 2, length(to_json(value)::text) - 2)
$$;

-- A text as jsonb, or NULL where it is none (jsonb refuses \u0000).
CREATE OR REPLACE FUNCTION karwan.as_jsonb(value text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN value::jsonb;
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;

-- The same as json, which keeps every byte.
CREATE OR REPLACE FUNCTION karwan.as_json(value text) RETURNS json
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN value::json;
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION karwan.refuse(code text, message text, hint text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', message USING ERRCODE = 'KW009', DETAIL = code, HINT = hint;
END $$;

-- What the catalogue asks of an event before it is written; the payload's schema is the first reader's business.
CREATE OR REPLACE FUNCTION karwan.judge_append(
    s karwan.subject, service text, tenant uuid, key text, idem text, payload text, provenance text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    named text;
BEGIN
    IF s.local_only THEN
        PERFORM karwan.refuse('envelope-local-only', s.name || ' never leaves its device', 'do not append it');
    END IF;
    IF s.carrier IS NOT NULL THEN
        PERFORM karwan.refuse('store-key-not-held', format('facts of %s are ordered by the document kind %s', s.name, s.carrier),
                              'emit them in a unit of work');
    END IF;
    IF NOT service = ANY (s.producers) THEN
        PERFORM karwan.refuse('envelope-producer', format('only %s publishes %s, and this login speaks for %s',
                              array_to_string(s.producers, ', '), s.name, service), 'use the login of the owning service');
    END IF;
    IF (s.tenancy = 'platform') <> (tenant = '00000000-0000-0000-0000-000000000000') THEN
        PERFORM karwan.refuse('envelope-tenancy', format('%s is an event of tenancy %s', s.name, s.tenancy),
                              'the nil UUID stands for the platform, any other for a tenant');
    END IF;
    IF tenant <> coalesce(nullif(current_setting('app.tenant_id', true), '')::uuid, tenant) THEN
        PERFORM karwan.refuse('envelope-tenant-mismatch', 'app.tenant_id names another tenant', 'append in the tenant that is set');
    END IF;
    IF provenance IS NOT NULL AND (octet_length(provenance) > 4000 OR json_typeof(karwan.as_json(provenance)) IS DISTINCT FROM 'object') THEN
        PERFORM karwan.refuse('envelope-ai-provenance', 'ai_provenance is no JSON object of at most 4000 bytes', 'see docs/guides/append.md');
    END IF;
    IF octet_length(key) NOT BETWEEN 1 AND 200 OR key IS NULL THEN
        PERFORM karwan.refuse('envelope-ordering-key', 'a key has 1 to 200 bytes', 'give the aggregate''s id');
    END IF;
    IF octet_length(idem) NOT BETWEEN 1 AND 300 OR idem IS NULL THEN
        PERFORM karwan.refuse('envelope-idempotency-key', 'an idempotency key has 1 to 300 bytes', 'name the business intent');
    END IF;
    IF octet_length(payload) > 1000000 OR payload IS NULL THEN
        PERFORM karwan.refuse('store-too-large', 'a payload has at most 1000000 bytes', 'store large things elsewhere and name them');
    END IF;
    BEGIN
        IF json_typeof(payload::json) <> 'object' THEN
            PERFORM karwan.refuse('envelope-payload', 'a payload is a JSON object', 'see the schema in catalog/');
        END IF;
        named := payload::json ->> 'tenantId';
    EXCEPTION WHEN invalid_text_representation OR untranslatable_character THEN
        PERFORM karwan.refuse('json-syntax', 'the payload is not JSON: ' || SQLERRM, 'send a JSON object as text');
    END;
    IF named <> ALL (SELECT CASE form WHEN 'uuid' THEN tenant::text WHEN 'ulid' THEN karwan.ulid(tenant)
                            ELSE form || '_' || karwan.ulid(tenant) END FROM unnest(s.tenant_forms) AS form)
       AND s.tenancy <> 'platform' THEN
        PERFORM karwan.refuse('envelope-tenant-mismatch', 'the payload names another tenant than the event', 'append in that tenant');
    END IF;
    IF s.ai = 'metadata' AND provenance IS NULL THEN
        PERFORM karwan.refuse('envelope-ai-provenance', s.name || ' must say which AI took part', 'give ai_provenance');
    END IF;
    IF s.ai = 'payload' AND payload::json -> 'aiProvenance' IS NULL THEN
        PERFORM karwan.refuse('envelope-ai-provenance', s.name || ' must say in its payload which AI took part', 'add aiProvenance');
    END IF;
END $$;

-- Appends an event in the caller's transaction. Not fresh: this intent is recorded already, so roll back.
CREATE OR REPLACE FUNCTION karwan.append(
    tenant uuid, subject text, key text, idempotency_key text, payload text,
    correlation uuid DEFAULT NULL, causation uuid DEFAULT NULL,
    actor_kind text DEFAULT 'service', actor_id text DEFAULT NULL, ai_provenance text DEFAULT NULL,
    OUT event_id uuid, OUT fresh boolean
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    a_tenant   ALIAS FOR $1;
    a_subject  ALIAS FOR $2;
    a_key      ALIAS FOR $3;
    a_idem     ALIAS FOR $4;
    a_payload  ALIAS FOR $5;
    a_ai       ALIAS FOR $10;
    s          karwan.subject;
    a_service  text;
    pieces     text[];
    number     bigint;
    hash       uuid;
    known_hash uuid;
    trace      uuid := coalesce($6, karwan.fresh_id());
    fresh_id   uuid := karwan.fresh_id();
    built      text := '';
BEGIN
    SELECT l.service INTO a_service FROM karwan.login l WHERE l.login = session_user;
    IF a_service IS NULL THEN
        PERFORM karwan.refuse('store-permission', format('login %s speaks for no service', session_user),
                              'as the owner: INSERT INTO karwan.login VALUES (login, service)');
    END IF;
    SELECT * INTO s FROM karwan.subject c WHERE c.name = a_subject OR a_subject = ANY (c.aliases);
    IF s.id IS NULL THEN
        PERFORM karwan.refuse('envelope-subject-unknown', format('%s is not in the catalogue', a_subject),
                              'karwan catalog list; karwan migrate brings a new catalogue in');
    END IF;
    IF a_tenant IS NULL THEN
        PERFORM karwan.refuse('envelope-tenancy', 'an event needs a tenant', 'the nil UUID stands for the platform');
    END IF;
    IF octet_length($9) NOT BETWEEN 1 AND 200 THEN
        PERFORM karwan.refuse('envelope-field-invalid', 'an actor''s id has 1 to 200 bytes', 'give a short one, or none');
    END IF;
    PERFORM set_config('app.tenants', ARRAY[a_tenant]::text, true);
    PERFORM karwan.judge_append(s, a_service, a_tenant, a_key, a_idem, a_payload, a_ai);
    SELECT t.pieces INTO pieces FROM karwan.template t
    WHERE t.subject = s.id AND t.actor = $8 AND t.caused = ($7 IS NOT NULL);
    IF pieces IS NULL THEN
        PERFORM karwan.refuse('envelope-field-invalid', format('%s is no kind of actor', $8), 'user, system, service or api_key');
    END IF;

    number := karwan.key_number(a_tenant, a_key);
    hash := encode(substr(sha256(convert_to(a_payload, 'UTF8')), 1, 16), 'hex')::uuid;
    PERFORM pg_advisory_xact_lock(number);
    INSERT INTO karwan.intent (tenant_id, subject, idem, payload_hash, event_id)
    VALUES (a_tenant, s.id, a_idem, hash, fresh_id) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        SELECT i.payload_hash, i.event_id INTO known_hash, event_id FROM karwan.intent i
        WHERE i.tenant_id = a_tenant AND i.subject = s.id AND i.idem = a_idem;
        IF known_hash IS DISTINCT FROM hash THEN
            PERFORM karwan.refuse('store-intent-differs', format('the intent %s of %s was recorded with another payload, as event %s',
                                  a_idem, s.name, event_id), 'another fact needs another idempotency key');
        END IF;
        fresh := false;
        RETURN;
    END IF;

    FOR place IN 1..cardinality(pieces) LOOP
        built := built || CASE WHEN place % 2 = 1 THEN pieces[place] ELSE CASE pieces[place]
            WHEN 'event' THEN fresh_id::text
            WHEN 'event:ulid' THEN karwan.ulid(fresh_id)
            WHEN 'tenant' THEN a_tenant::text
            WHEN 'tenant:ulid' THEN karwan.ulid(a_tenant)
            WHEN 'correlation' THEN trace::text
            WHEN 'correlation:ulid' THEN karwan.ulid(trace)
            WHEN 'correlation:hex' THEN replace(trace::text, '-', '')
            WHEN 'span' THEN right(replace(trace::text, '-', ''), 15) || 'f'
            WHEN 'causation' THEN $7::text
            WHEN 'causation:ulid' THEN karwan.ulid($7)
            WHEN 'actor' THEN karwan.json_inside(coalesce($9, a_service))
            WHEN 'service' THEN karwan.json_inside(a_service)
            WHEN 'instance' THEN karwan.json_inside(session_user::text)
            WHEN 'key' THEN karwan.json_inside(a_key)
            WHEN 'intent' THEN karwan.json_inside(a_idem)
            WHEN 'occurred' THEN to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
            WHEN 'provenance' THEN a_ai
            WHEN 'payload' THEN a_payload
        END END;
    END LOOP;
    IF octet_length(built) > 1048576 THEN
        PERFORM karwan.refuse('store-too-large', 'an envelope has at most 1048576 bytes', 'store large things elsewhere and name them');
    END IF;
    IF built IS NULL THEN
        PERFORM karwan.refuse('store-refused', format('%s cannot be written from SQL', s.name), 'migrate with the newest program');
    END IF;
    INSERT INTO karwan.log (tenant_id, subject, key, slot, event_id, envelope)
    VALUES (a_tenant, s.id, a_key, karwan.slot(number), fresh_id, built);
    IF currval('karwan.log_seq') % 100000 = 0 THEN
        PERFORM karwan.make_partitions();
    END IF;
    event_id := fresh_id;
    fresh := true;
END $$;
