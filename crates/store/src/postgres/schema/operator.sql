-- What operators and relays do in the database. Replaced by every migration; signatures only grow.

-- Keeps every write of the lane of a key out until the transaction ends, and answers the lane. In the order in which a lane is
-- taken: how many lanes there are first, the lane after. As the owner, because only taking lanes changes their number.
CREATE OR REPLACE FUNCTION karwan.stop_lane(p_consumer text, p_tenant uuid, p_key text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lanes integer;
    mine  integer;
BEGIN
    SELECT c.lanes INTO lanes FROM karwan.lane_count c WHERE c.consumer = p_consumer FOR SHARE;
    mine := karwan.slot(karwan.key_number(p_tenant, p_key)) % coalesce(lanes, 1);
    PERFORM pg_advisory_xact_lock(hashtext('karwan.lane.' || p_consumer), mine);
    RETURN mine;
END $$;

-- Keeps why an attempt failed, where it is a further one; the last 50 of each event.
CREATE OR REPLACE FUNCTION karwan.note_attempt(
    p_consumer text, p_event uuid, p_tenant uuid, p_key text, p_attempts integer, p_error text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    last integer;
BEGIN
    PERFORM FROM karwan.parked WHERE consumer = p_consumer AND event_id = p_event AND attempts >= p_attempts;
    IF FOUND OR p_attempts = 0 THEN
        RETURN;
    END IF;
    SELECT coalesce(max(number), 0) INTO last FROM karwan.attempt WHERE consumer = p_consumer AND event_id = p_event;
    INSERT INTO karwan.attempt (consumer, event_id, number, tenant_id, key, error)
    VALUES (p_consumer, p_event, last + 1, p_tenant, p_key, p_error);
    DELETE FROM karwan.attempt WHERE consumer = p_consumer AND event_id = p_event AND number <= last - 49;
END $$;

-- Saves how far a relay is, in the log and in its stream.
CREATE OR REPLACE FUNCTION karwan.save_relay(
    p_consumer text, p_lane integer, p_epoch bigint, p_position bigint, p_stream_seq bigint, p_stream_created bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM karwan.save_position(p_consumer, p_lane, p_epoch, p_position, false);
    INSERT INTO karwan.relay VALUES (p_consumer, p_stream_seq, p_stream_created)
    ON CONFLICT (consumer) DO UPDATE SET stream_seq = excluded.stream_seq, stream_created = excluded.stream_created;
END $$;

-- Sets a held lane back: what its stream lost is published again.
CREATE OR REPLACE FUNCTION karwan.rewind(p_consumer text, p_lane integer, p_epoch bigint, p_position bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM karwan.check_lane(p_consumer, p_lane, p_epoch);
    UPDATE karwan.lane SET position = least(position, p_position) WHERE consumer = p_consumer AND lane = p_lane;
END $$;

-- How a subject is called.
CREATE OR REPLACE FUNCTION karwan.subject_name(p_subject integer) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT name FROM karwan.subject WHERE id = p_subject
$$;
