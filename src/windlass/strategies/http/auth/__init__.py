"""Authentication of deliveries: webhook signatures, bearer, basic, API key, OAuth 2, mTLS.

Owns: what an `http` job's `auth` may say, and the headers and certificates made of it just before
a request is sent.
Promises: a secret goes only to hosts that it is bound to; a delivery is signed unless its owner
wants it otherwise; no value of a secret stands in an error, a log line or a representation.
Never: keeps or decrypts secrets: `secrets.Vault` is given by the engine. Never connects: a token is
asked for on a connection of the deliveries' pool, so the egress guard judges it as it does those.

Doors:

    auth         `Credentials.prepare`: auth + target -> headers, TLS context
    check        `check_auth`: the shape of `auth`, at the door
    sign         signatures of Standard Webhooks: HMAC-SHA256 (v1), ed25519 (v1a), derived keys
    oauth        access tokens by client credentials (RFC 6749 §4.4), asked for once and cached
    client_cert  client certificates (mTLS): an SSL context for each PEM
    secrets      the vault as a delivery sees it, and why a secret may not be had
"""
