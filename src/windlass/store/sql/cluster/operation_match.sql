-- operation_match: operations whose ids lie between two, newest first: those that a prefix of an id can mean. A change of the
-- whole cluster has an id of its own, and no row; its parts know it. Those on many jobs are in a table of their own.
-- params: low uuid, high uuid, most int4     returns: id, name (its kind), state (its phase; NULL: its parts have their own),
-- created_at
-- Index: the primary keys, read backwards; operation_parent.
SELECT id, kind AS name, phase AS state, created_at FROM (
    (SELECT id, kind, phase, created_at
     FROM windlass.operation WHERE id BETWEEN $low AND $high ORDER BY id DESC LIMIT $most)
    UNION ALL
    (SELECT DISTINCT ON (parent_id) parent_id, kind, NULL, created_at
     FROM windlass.operation WHERE parent_id BETWEEN $low AND $high ORDER BY parent_id DESC LIMIT $most)
    UNION ALL
    (SELECT id, verb, phase, asked_at
     FROM windlass.bulk WHERE id BETWEEN $low AND $high ORDER BY id DESC LIMIT $most)
) found
ORDER BY id DESC LIMIT $most
