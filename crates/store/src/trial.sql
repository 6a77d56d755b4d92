-- The lock alone, without the check that it is for.
CREATE OR REPLACE FUNCTION karwan.check_lane(p_consumer text, p_lane integer, p_epoch bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtext('karwan.lane.' || p_consumer), p_lane);
END $$;
