-- user_add_elsewhere: a user of an identity provider, without a password.
-- params: id uuid, name text, role text, issuer text, subject text
-- returns: id; nothing when the name is taken, or another login has just made the user
INSERT INTO windlass.user_account (id, name, role, issuer, subject) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING
RETURNING id
