-- leader_take: begin a term. A lease that stands is taken only from somebody whose session is known to be over.
-- params: node_id uuid, lease_seconds float8, is_vacant bool     returns: term, or nothing when somebody leads
WITH taken AS (
    UPDATE windlass.leader
    SET term = term + 1, node_id = $1, elected_at = clock_timestamp(), lease_until = clock_timestamp() + $2 * interval '1 second'
    WHERE lease_until <= clock_timestamp() OR $3
    RETURNING term
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'node', replace($1::text, '-', ''), 'elected', json_build_object('term', term) FROM taken
), audited AS (
    INSERT INTO windlass.audit_entry (id, actor_kind, actor_id, actor_name, node_id, action, after)
    -- A UUIDv7: milliseconds since 1970, the version, and the random end of another.
    SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::int8), 12, '0')
            || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid,
           'leader', 'node_' || replace($1::text, '-', ''), 'leader', $1, 'cluster.lead', jsonb_build_object('term', term)
    FROM taken
)
SELECT term FROM taken
