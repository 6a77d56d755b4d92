-- Keeps what was given up.
INSERT INTO dead (consumer, event, seq, logged, tenant, subject, key, due, attempts, error, envelope, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
