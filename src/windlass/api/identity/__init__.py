"""Identity over HTTP: log in and out, users, sessions, API keys.

session.py   /v1/session: who one is and what one may do; log in, log out, choose a password
sign_on.py   /v1/session/oidc: log in through an identity provider (OpenID Connect); in what ways
             one may log in
sessions.py  /v1/sessions: where one is logged in; end them, one by one or all
users.py     /v1/users: people and their roles, for admins
keys.py      /v1/keys: API keys with a role or scopes
schema.py    what is shown and taken, as JSON Schema
"""
