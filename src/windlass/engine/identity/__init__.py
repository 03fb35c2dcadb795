"""Identity: users, passwords, sessions, API keys, who shows a token, and their quotas.

Owns: the only statements that write users, sessions, keys and what was used of quotas.
Promises: of passwords and tokens only hashes are kept; there is always an admin who may come in;
what was revoked is refused on every node within two seconds, whatever becomes of Redis within ten.
Never: decides what a caller may do (model.identity), knows of cookies and headers (api.http).

Doors:
  tokens     `Tokens.principal`: who shows this token; `revoked`: no node believes it any more
  login      `log_in` with name and password, throttled
  passwords  `Passwords`: Argon2id on threads, a bounded number at a time
  users      make, change, disable, delete; choose and reset passwords
  sessions   begin, rotate, list, end
  keys       API keys: make, list, change, rotate, revoke
  forget     sessions, rotated tokens and counted tries that matter no more
  quotas     jobs a day and bytes that wait, counted where jobs are admitted
  request_limits  requests a second: `RequestLimits.admit` lets one in, or not
  sign_on    `SignOn`: log in through an identity provider (OpenID Connect, code flow with PKCE);
             provider (its endpoints and keys), id_token (signatures), sign_on_answers
  first      the first key and the first user; a new key for one that was lost
"""
