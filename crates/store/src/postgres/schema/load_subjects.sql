-- Takes in a catalogue: known subjects keep their numbers, new ones get the next. Answers how many are new.
WITH given AS (
    SELECT s.*, row_number() OVER (ORDER BY s.name) AS place, known.id AS known_id
    FROM jsonb_to_recordset($1::text::jsonb) AS s(name text, aliases text[], producers text[], tenancy text, retention text,
         ai text, local_only boolean, tenant_forms text[])
    LEFT JOIN karwan.subject known ON known.name = s.name
), written AS (
    INSERT INTO karwan.subject (id, name, aliases, producers, tenancy, retention, ai, local_only, tenant_forms)
    SELECT coalesce(known_id, (SELECT coalesce(max(id), 0) FROM karwan.subject) + place),
           name, aliases, producers, tenancy, retention, ai, local_only, tenant_forms
    FROM given
    ON CONFLICT (name) DO UPDATE SET aliases = excluded.aliases, producers = excluded.producers, tenancy = excluded.tenancy,
        retention = excluded.retention, ai = excluded.ai, local_only = excluded.local_only,
        tenant_forms = excluded.tenant_forms
)
SELECT count(*) FROM given WHERE known_id IS NULL
