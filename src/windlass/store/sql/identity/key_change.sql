-- key_change: another name or quota. What the key opens stays as it is.
-- params: id uuid, name text (NULL: as before), quota json (NULL: none of its own)     returns: id
-- Index: primary key; the caller holds the row.
UPDATE windlass.api_key SET name = coalesce($2, name), quota = $3::json WHERE id = $1 RETURNING id
