-- Where operators move consumers through the log. Replaced by every migration; signatures only grow.

-- Stops every lane of a consumer until the transaction ends, and answers how far each is. As the owner, because only taking
-- lanes changes their number.
CREATE OR REPLACE FUNCTION karwan.stop_lanes(p_consumer text) RETURNS TABLE (number integer, place bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lanes integer;
BEGIN
    -- First, as dropping does: whoever drops looks at positions, and whoever moves one looks at the floor.
    PERFORM pg_advisory_xact_lock(hashtext('karwan.floor'), 0);
    SELECT c.lanes INTO lanes FROM karwan.lane_count c WHERE c.consumer = p_consumer FOR SHARE;
    FOR mine IN 0..coalesce(lanes, 0) - 1 LOOP
        PERFORM pg_advisory_xact_lock(hashtext('karwan.lane.' || p_consumer), mine);
    END LOOP;
    -- A lane that was never taken has everything before it.
    RETURN QUERY SELECT n, coalesce(l.position, 0)
        FROM generate_series(0, coalesce(lanes, 0) - 1) AS n
        LEFT JOIN karwan.lane l ON l.consumer = p_consumer AND l.lane = n ORDER BY n;
END $$;

-- Moves lanes that are stopped, and frees them or lets an operator hold them; whoever held one holds it no more.
CREATE OR REPLACE FUNCTION karwan.move_lanes(p_consumer text, p_to bigint[], p_holder text, p_hold_ms bigint)
RETURNS TABLE (number integer, raised bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY INSERT INTO karwan.lane AS l (consumer, lane, position, epoch, holder, until)
        SELECT p_consumer, n.ord - 1, n.place, 1, p_holder,
               CASE WHEN p_holder IS NOT NULL THEN clock_timestamp() + p_hold_ms * interval '1 millisecond' END
        FROM unnest(p_to) WITH ORDINALITY AS n(place, ord)
        ON CONFLICT (consumer, lane) DO UPDATE
        SET position = excluded.position, epoch = l.epoch + 1, holder = excluded.holder, until = excluded.until
        RETURNING l.lane::integer, l.epoch;
END $$;

-- Takes a consumer's lanes away; they are stopped.
CREATE OR REPLACE FUNCTION karwan.forget_lanes(p_consumer text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM karwan.lane WHERE consumer = p_consumer;
    DELETE FROM karwan.lane_count WHERE consumer = p_consumer;
    DELETE FROM karwan.suspension WHERE consumer = p_consumer;
    DELETE FROM karwan.declared WHERE consumer = p_consumer;
END $$;

-- Brings the lanes of a consumer back that was forgotten.
CREATE OR REPLACE FUNCTION karwan.remember_lanes(p_consumer text, p_lanes integer) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO karwan.lane_count (consumer, lanes) VALUES (p_consumer, p_lanes) ON CONFLICT DO NOTHING
$$;

-- Drops one leaf of the inbox that lies wholly before an instant; answers its name, or NULL where there is none. The caller has a
-- short lock_timeout: a waiting DROP queues every claim.
CREATE OR REPLACE FUNCTION karwan.drop_claims(before timestamptz)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    leaf text;
BEGIN
    SELECT c.relname INTO leaf FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'karwan.inbox'::regclass AND c.relname ~ '^inbox_[0-9]{8}$'
      AND to_timestamp(substr(c.relname, 7), 'YYYYMMDD') + interval '7 days' <= before
    ORDER BY c.relname LIMIT 1;
    IF leaf IS NOT NULL THEN
        EXECUTE format('DROP TABLE karwan.%I', leaf);
    END IF;
    RETURN leaf;
END $$;
