-- Lives of the store, retention, and what maintenance may do.

-- The present life. A store that finds itself on another server, or on a server that lost commits, starts a new one with
-- effects and relay suspended; so does a restore that says so.
CREATE OR REPLACE FUNCTION karwan.new_life(restored boolean)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    server text;
    line   bigint;
    life   karwan.incarnation;
    coming   bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('karwan.new_life'), 0);
    -- A copy in another database of the same server is another store.
    SELECT s.system_identifier || ':' || d.oid INTO server
    FROM pg_control_system() s, pg_database d WHERE d.datname = current_database();
    -- Of what is being written: the control file tells a promotion only after the next checkpoint.
    line := ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
    SELECT * INTO life FROM karwan.incarnation ORDER BY number DESC LIMIT 1;
    IF life.number IS NOT NULL AND NOT restored AND life.system_identifier = server AND life.timeline = line THEN
        RETURN life.number;
    END IF;
    -- Two restores of one copy are two lives, so later ones are numbered by the clock.
    coming := CASE WHEN life.number IS NULL THEN 1
                 ELSE greatest(life.number + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint) END;
    INSERT INTO karwan.incarnation (number, system_identifier, timeline, suspended, began)
    VALUES (coming, server, line, life.number IS NOT NULL, karwan.highest());
    -- Whoever held a lane in the life before holds nothing here, and no epoch of that life comes again: it may have gone on
    -- counting after the copy was made.
    UPDATE karwan.lane SET holder = NULL, until = NULL, epoch = greatest(epoch + 1, coming) WHERE life.number IS NOT NULL;
    RETURN coming;
END $$;

-- Whether a life was begun here: on this server and in this database. Which timeline it is on is not asked.
CREATE OR REPLACE FUNCTION karwan.is_home(identifier text)
RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT identifier = s.system_identifier || ':' || d.oid
    FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()
$$;

-- The present life as somebody sees it who begins none: on another server, or one that lost commits, it is another already.
CREATE OR REPLACE FUNCTION karwan.seen_life()
RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.number + CASE WHEN karwan.is_home(i.system_identifier)
        AND i.timeline = ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint THEN 0 ELSE 1 END
    FROM karwan.incarnation i ORDER BY i.number DESC LIMIT 1
$$;

-- The present life, as anybody may ask for it.
CREATE OR REPLACE FUNCTION karwan.life()
RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT karwan.new_life(false)
$$;

-- Lets effects and relay run again, in the life that begins with it where none has yet.
CREATE OR REPLACE FUNCTION karwan.resume()
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT karwan.new_life(false);
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
    -- Whoever moves a consumer looks at the floor under the same lock.
    PERFORM pg_advisory_xact_lock(hashtext('karwan.floor'), 0);
    SELECT * INTO oldest FROM karwan.partition ORDER BY lower LIMIT 1;
    -- Those of effects read no log, and those that a stream feeds have its numbers.
    SELECT min(position) INTO lowest FROM karwan.lane
    WHERE consumer NOT LIKE 'effect.%' AND consumer NOT IN (SELECT consumer FROM karwan.declared WHERE stream IS NOT NULL);
    IF oldest.upper - 1 > least(up_to, coalesce(lowest, up_to)) OR oldest.upper > karwan.highest() THEN
        RETURN NULL;
    END IF;
    EXECUTE format('DROP TABLE karwan.%I', oldest.leaf);
    DELETE FROM karwan.partition WHERE leaf = oldest.leaf;
    UPDATE karwan.meta SET floor = oldest.upper - 1;
    RETURN oldest.upper - 1;
END $$;
