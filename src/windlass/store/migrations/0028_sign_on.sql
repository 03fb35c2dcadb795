-- 0028_sign_on: logins through OpenID Connect that are under way.

-- Begun on one node, ended on whichever the browser is sent back to, once. Only hashes are kept: `state` goes through
-- the provider, the browser's secret stays in its cookie, and the nonce and the code verifier (PKCE) are made of both.
CREATE TABLE windlass.login_under_way (
    state_hash   bytea PRIMARY KEY,                 -- SHA-256 of 256 random bits, which are nowhere
    browser_hash bytea NOT NULL,                    -- the same of what the cookie holds
    return_to    text NOT NULL,                     -- a path of ours
    session_id   uuid,                              -- of the session that the browser had; NULL: none
    expires_at   timestamptz NOT NULL
);
CREATE INDEX login_under_way_expires_at ON windlass.login_under_way (expires_at);
