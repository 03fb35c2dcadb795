"""Who calls, on the command line: people, keys, sessions, and one's own login.

Owns: the commands of /v1/users, /v1/keys, /v1/sessions and /v1/session, and their options.
Promises: no password and no token is an argument, or stands in what a command says beside it. What
is shown once is alone on standard output, so that a shell can keep it: TOKEN=$(windlass key add …).
Never: decides who may do what; the server does.

    user.py       people and their roles; a lost password, also beside the database
    key.py        API keys; `reset` makes a new admin key beside the database
    quota.py      the options for quotas of users and keys
    session.py    where one is logged in
    login.py      log in and out, choose another password (http/stored_login.py keeps the login)
    whoami.py     who one is, and what one may
    typed.py      passwords: asked for without echo, or read from a file
"""
