-- 0004_secret: values that deliveries sign and identify themselves with, encrypted.
-- A dump of these tables shows no value: `box` is AES-256-GCM under a key that PostgreSQL never sees (engine/seal.py),
-- bound to name, version and public key. A name has one current version, and one more while a rotation overlaps.

CREATE TABLE windlass.secret (
    name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    version       integer NOT NULL CHECK (version >= 1),
    kind          text NOT NULL CHECK (kind IN ('hmac', 'ed25519', 'derived', 'other')),
    public_key    text,                      -- what receivers verify with; NULL unless ed25519
    key_id        text NOT NULL,             -- of the key that sealed it
    nonce         bytea NOT NULL CHECK (length(nonce) = 12),
    box           bytea NOT NULL CHECK (length(box) BETWEEN 17 AND 16400), -- the value and 16 bytes that prove it
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(), -- of the name: each version has that of its first
    put_at        timestamptz NOT NULL DEFAULT clock_timestamp(), -- of this version
    overlap_until timestamptz,               -- the previous version is good until then; NULL: the current one
    PRIMARY KEY (name, version),
    CONSTRAINT secret_public_key CHECK ((kind = 'ed25519') = (public_key IS NOT NULL))
);
CREATE UNIQUE INDEX secret_current ON windlass.secret (name) WHERE overlap_until IS NULL;
CREATE UNIQUE INDEX secret_previous ON windlass.secret (name) WHERE overlap_until IS NOT NULL;
CREATE INDEX secret_overlap ON windlass.secret (overlap_until) WHERE overlap_until IS NOT NULL;

-- Secrets that a first start made by itself. One that its owner deleted is not made again.
CREATE TABLE windlass.secret_default (
    name    text PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
