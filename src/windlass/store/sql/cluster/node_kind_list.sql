-- node_kind_list: which of the living nodes that take jobs perform a kind.
-- params: kind text     returns: id, is_able (NULL: it has not said what it performs), those that are first, 100 at most
-- Index: node_live.
SELECT id, $1 = ANY (kinds) AS is_able FROM windlass.node
WHERE state = 'active' AND lease_until > now() AND 'worker' = ANY (roles)
ORDER BY is_able DESC NULLS LAST, id
LIMIT 100
