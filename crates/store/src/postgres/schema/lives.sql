-- Lives of the store, retention, and what maintenance may do.

-- The present life. A store that finds itself on another server, or on a server that lost commits, starts a new one with
-- effects and relay suspended; so does a restore that says so.
CREATE OR REPLACE FUNCTION karwan.new_life(restored boolean)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    server text;
    line   bigint;
    life   karwan.incarnation;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('karwan.new_life'), 0);
    SELECT system_identifier::text INTO server FROM pg_control_system();
    SELECT timeline_id INTO line FROM pg_control_checkpoint();
    SELECT * INTO life FROM karwan.incarnation ORDER BY number DESC LIMIT 1;
    IF life.number IS NOT NULL AND NOT restored AND life.system_identifier = server AND life.timeline = line THEN
        RETURN life.number;
    END IF;
    INSERT INTO karwan.incarnation (number, system_identifier, timeline, suspended)
    VALUES (coalesce(life.number, 0) + 1, server, line, life.number IS NOT NULL);
    -- Whoever held a lane in the life before holds nothing here.
    UPDATE karwan.lane SET holder = NULL, until = NULL, epoch = epoch + 1 WHERE life.number IS NOT NULL;
    RETURN coalesce(life.number, 0) + 1;
END $$;

-- Lets effects and relay run again.
CREATE OR REPLACE FUNCTION karwan.resume()
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE karwan.incarnation SET suspended = false WHERE number = (SELECT max(number) FROM karwan.incarnation)
$$;

-- Drops the oldest stretch of the log if it lies wholly at or below a number and below every saved position; answers the
-- new floor, or NULL where nothing could go. The caller has a short lock_timeout: a waiting DROP queues every append.
CREATE OR REPLACE FUNCTION karwan.drop_stretch(up_to bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    oldest karwan.partition;
    lowest bigint;
BEGIN
    SELECT * INTO oldest FROM karwan.partition ORDER BY lower LIMIT 1;
    SELECT min(position) INTO lowest FROM karwan.lane;
    IF oldest.upper - 1 > least(up_to, coalesce(lowest, up_to)) OR oldest.upper > karwan.highest() THEN
        RETURN NULL;
    END IF;
    EXECUTE format('DROP TABLE karwan.%I', oldest.leaf);
    DELETE FROM karwan.partition WHERE leaf = oldest.leaf;
    UPDATE karwan.meta SET floor = oldest.upper - 1;
    RETURN oldest.upper - 1;
END $$;
