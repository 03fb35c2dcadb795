-- lock_hold_many: hold the rows of locks until the transaction ends.
-- params: freed text[] (of these more may be free now), entered text[] (somebody came to wait for these), waiters_max int4
-- returns: name
-- Index: lock primary key; lock_wait_line, the first waiters of each freed lock, and what else those wait for: a waiter takes
-- all its locks at once, so the rows of all are needed. Rows are locked in one order for everybody, hence at once. Not FOR
-- UPDATE: a new hold's foreign key needs the row as well.
SELECT l.name FROM windlass.lock l
WHERE l.name IN (
    SELECT unnest($1::text[])
    UNION
    SELECT unnest($2::text[])
    UNION
    SELECT other.lock
    FROM unnest($1::text[]) AS freed(name)
    CROSS JOIN LATERAL (
        SELECT w.waiter FROM windlass.lock_wait w
        WHERE w.lock = freed.name AND w.since <= clock_timestamp() AND (w.until IS NULL OR w.until > clock_timestamp())
        ORDER BY w.lock, w.rank LIMIT $3
    ) near
    JOIN windlass.lock_wait other ON other.waiter = near.waiter
)
ORDER BY l.name
FOR NO KEY UPDATE
