-- parent_end_find: parents that have children yet to be told, oldest first.
-- params: most int4, resting uuid[] (left out)     returns: parent_id
-- Index: parent_end_oldest.
SELECT parent_id FROM windlass.parent_end WHERE parent_id <> ALL ($2::uuid[]) ORDER BY ended_at LIMIT $1
