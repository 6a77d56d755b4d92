-- Of the next rows after a position, up to another, how many a consumer handles whose lanes have not passed them; and how many rows there were.
SELECT count(*) FILTER (WHERE a.lane IS NOT NULL
                          AND instr(char(10) || d.subjects || char(10), char(10) || s.name || char(10)) > 0),
       count(*)
FROM (SELECT seq, subject, slot FROM log WHERE seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4) AS l
JOIN subject s ON s.id = l.subject
JOIN declared d ON d.consumer = ?1
JOIN lane_count n ON n.consumer = ?1
LEFT JOIN lane a ON a.consumer = ?1 AND a.lane = l.slot % n.lanes AND a.position < l.seq
