-- bulk_put_off: let a bulk operation rest, for a reason that is none of its jobs'.
-- params: id uuid, seconds float8     returns: nothing
-- Index: bulk primary key. One that somebody works on does not rest.
UPDATE windlass.bulk SET next_at = clock_timestamp() + $2 * interval '1 second'
WHERE id = ANY (ARRAY(SELECT id FROM windlass.bulk WHERE id = $1 AND ended_at IS NULL FOR UPDATE SKIP LOCKED))
