-- Rows of several tenants, each after a number of its own and no more than $4 of it, up to $3; those of other subjects than $5
-- come without their envelopes, where it is not null. One tenant after the other along its own index: as a join the planner may
-- read the whole stretch.
SELECT l.seq, l.tenant_id, l.subject, l.key, l.slot, l.event_id, l.at,
    CASE WHEN $5::integer[] IS NULL OR l.subject = ANY ($5) THEN l.envelope ELSE '' END, behind.place
FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS behind(tenant, after, place), LATERAL (
    SELECT seq, tenant_id, subject, key, slot, event_id, at, envelope FROM karwan.log
    WHERE tenant_id = behind.tenant AND seq > behind.after AND seq <= $3
    ORDER BY seq LIMIT $4
) AS l
