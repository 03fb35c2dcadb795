-- event_insert: record something about a queue or a node.
-- params: noun text, subject text, type text, data text (JSON)     returns: nothing
INSERT INTO windlass.event (noun, subject, type, data) VALUES ($1, $2, $3, $4::json)
