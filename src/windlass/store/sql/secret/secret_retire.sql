-- secret_retire: the current version becomes the previous one, good for a while.
-- params: name text, overlap_seconds float8     returns: nothing
-- Index: secret_current.
UPDATE windlass.secret SET overlap_until = clock_timestamp() + $2 * interval '1 second'
WHERE name = $1 AND overlap_until IS NULL
