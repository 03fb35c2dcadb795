-- 0025_identity: users, their sessions, and API keys with a role or scopes, an expiry and a rotation.

CREATE TABLE windlass.user_account (
    id                   uuid PRIMARY KEY,
    name                 text NOT NULL UNIQUE CHECK (name = lower(name) AND length(name) BETWEEN 1 AND 128),
    role                 text NOT NULL CHECK (role IN ('viewer', 'operator', 'editor', 'admin')),
    password_hash        text,                      -- Argon2id with its parameters; NULL: signs in elsewhere only
    must_change_password boolean NOT NULL DEFAULT false,
    password_until       timestamptz,               -- of a one-time password; NULL: it stays good
    issuer               text,                      -- of OpenID Connect; NULL: known here only
    subject              text,
    created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_login_at        timestamptz,
    disabled_at          timestamptz,               -- NULL: may come in
    CONSTRAINT user_account_elsewhere CHECK ((issuer IS NULL) = (subject IS NULL))
);
CREATE UNIQUE INDEX user_account_subject ON windlass.user_account (issuer, subject) WHERE issuer IS NOT NULL;

-- The truth about who is signed in; Redis has copies. `seen_at` moves once a minute at most.
CREATE TABLE windlass.session (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES windlass.user_account (id) ON DELETE CASCADE,
    hash       bytea NOT NULL UNIQUE,               -- SHA-256 of a 256-bit random token, which is nowhere
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,                -- however much it is used
    address    text NOT NULL,
    device     text NOT NULL,                       -- as it calls itself: hostile text
    revoked_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX session_of_user ON windlass.session (user_id, id);
CREATE INDEX session_expires_at ON windlass.session (expires_at);

-- A key has a role or scopes. Keys that nodes of the release before must not take for an admin's have no `hash` there:
-- these look for the hash alone, and would let in whoever has one. Their tokens, and those of keys that were rotated,
-- are rows of key_token; a key of before has its hash in both senses of the word.
ALTER TABLE windlass.api_key ALTER COLUMN hash DROP NOT NULL;
ALTER TABLE windlass.api_key ALTER COLUMN role DROP NOT NULL;
ALTER TABLE windlass.api_key ADD COLUMN user_id uuid REFERENCES windlass.user_account (id) ON DELETE CASCADE; -- NULL: of nobody
ALTER TABLE windlass.api_key ADD COLUMN rights text[];               -- NULL: those of its role
ALTER TABLE windlass.api_key ADD COLUMN queues text[];               -- NULL: all
ALTER TABLE windlass.api_key ADD COLUMN workflows text[];            -- NULL: all
ALTER TABLE windlass.api_key ADD COLUMN expires_at timestamptz;      -- NULL: never
ALTER TABLE windlass.api_key ADD COLUMN rotated_at timestamptz;
ALTER TABLE windlass.api_key ADD COLUMN last_used_at timestamptz;    -- moves once a minute at most
ALTER TABLE windlass.api_key ADD CONSTRAINT api_key_scope CHECK ((role IS NULL) <> (rights IS NULL));
CREATE INDEX api_key_user ON windlass.api_key (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE windlass.key_token (
    hash       bytea PRIMARY KEY,                   -- SHA-256 of a 256-bit random token, which is nowhere
    key_id     uuid NOT NULL REFERENCES windlass.api_key (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    until      timestamptz                          -- NULL: as long as its key
);
CREATE INDEX key_token_key ON windlass.key_token (key_id);

-- Tries to log in, by GCRA: a row is a user at an address, an address, or a user, as a hash.
CREATE TABLE windlass.login_try (
    subject bytea PRIMARY KEY,
    due_at  timestamptz NOT NULL                    -- when its tries so far would have been in time, one by one
) WITH (fillfactor = 70);
CREATE INDEX login_try_due_at ON windlass.login_try (due_at);

-- With this nodes sign what they leave of sessions in Redis: who can write there makes none of his own.
CREATE TABLE windlass.session_key (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    key     bytea NOT NULL
);
INSERT INTO windlass.session_key (key) VALUES (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
