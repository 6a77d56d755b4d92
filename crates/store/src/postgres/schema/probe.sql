-- What keeps row-level security from biting, a sentence each.
SELECT format('table karwan.%I has a tenant and no forced row-level security: ALTER TABLE karwan.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
              c.relname, c.relname)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
WHERE c.relnamespace = 'karwan'::regnamespace AND c.relkind IN ('r', 'p') AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
UNION ALL
SELECT format('karwan.%I, a partition, has grants of its own: REVOKE ALL ON karwan.%I FROM PUBLIC, karwan_app, karwan_relay, karwan_maintenance',
              c.relname, c.relname)
FROM pg_class c
CROSS JOIN LATERAL aclexplode(c.relacl) AS g
WHERE c.relispartition AND c.relnamespace = 'karwan'::regnamespace AND g.grantee <> c.relowner AND c.relkind = 'r'
UNION ALL
SELECT format('karwan.%I belongs to %s and not to karwan_owner', c.relname, pg_get_userbyid(c.relowner))
FROM pg_class c
WHERE c.relnamespace = 'karwan'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND pg_get_userbyid(c.relowner) <> 'karwan_owner'
