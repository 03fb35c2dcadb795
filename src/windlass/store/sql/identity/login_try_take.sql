-- login_try_take: count a try to log in under each of its subjects (GCRA), and say where it comes too early.
-- params: subjects bytea[] (sorted), burst_seconds float8[], seconds float8[]
-- returns: wait_seconds, where a subject has none left; nothing at all: go on
-- Where any comes too early the caller rolls back: who is refused is not counted, under any of them. Index: primary key.
WITH asked AS (
    SELECT * FROM unnest($1::bytea[], $2::float8[], $3::float8[]) AS a (subject, burst_seconds, seconds)
), taken AS (
    INSERT INTO windlass.login_try AS t (subject, due_at)
    SELECT subject, clock_timestamp() + make_interval(secs => seconds) FROM asked ORDER BY subject
    ON CONFLICT (subject) DO UPDATE
    SET due_at = GREATEST(t.due_at, clock_timestamp()) + (EXCLUDED.due_at - clock_timestamp())
    WHERE t.due_at <= clock_timestamp() + (
        SELECT make_interval(secs => a.burst_seconds) FROM asked a WHERE a.subject = EXCLUDED.subject
    )
    RETURNING t.subject
)
SELECT COALESCE(EXTRACT(epoch FROM t.due_at - clock_timestamp())::float8 - asked.burst_seconds, asked.seconds)
           AS wait_seconds
FROM asked LEFT JOIN windlass.login_try t USING (subject) -- that somebody has just made is not seen yet
WHERE asked.subject NOT IN (SELECT subject FROM taken)
