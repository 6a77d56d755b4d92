-- Bytes of every table with its indexes; `dbstat` with aggregation looks at every page once.
SELECT tbl_name, sum(pgsize)
FROM sqlite_master JOIN dbstat('main', 1) AS used ON used.name = sqlite_master.name
WHERE tbl_name NOT LIKE 'sqlite\_%' ESCAPE '\'
GROUP BY tbl_name
ORDER BY tbl_name
