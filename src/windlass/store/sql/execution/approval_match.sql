-- approval_match: decisions whose ids lie between two, newest first: those that a prefix of an id can mean.
-- params: low uuid, high uuid, most int4     returns: id, name (its title), state, created_at
-- Index: the primary key, read backwards.
SELECT id, title AS name, state, created_at
FROM windlass.approval WHERE id BETWEEN $low AND $high ORDER BY id DESC LIMIT $most
