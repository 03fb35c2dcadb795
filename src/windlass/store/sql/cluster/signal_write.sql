-- signal_write: leave a signal for targets that Redis cannot reach.
-- params: id uuid, name text, payload json, kept_seconds float8, node_id uuid[]     returns: nothing
-- Writing it again for the same targets changes nothing.
WITH written AS (
    INSERT INTO windlass.signal (id, name, payload, until)
    VALUES ($1, $2, $3::text::json, now() + $4 * interval '1 second')
    ON CONFLICT (id) DO NOTHING
)
INSERT INTO windlass.signal_target (node_id, signal_id)
SELECT node_id, $1 FROM unnest($5::uuid[]) AS target (node_id)
ON CONFLICT (node_id, signal_id) DO NOTHING
