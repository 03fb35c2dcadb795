-- key_admin_add: keep one more admin key; those that there are stay good.
-- params: id uuid, hash bytea     returns: id
-- With a hash of its own, as the first one has, so that key_admin_reset revokes it as well.
INSERT INTO windlass.api_key (id, name, role, hash) VALUES ($1, 'admin', 'admin', $2) RETURNING id
