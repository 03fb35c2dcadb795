"""Who calls, and what they may do: roles, rights (RBAC), scopes of API keys, principals.

Owns: the one table of rights and the lowest role that has each; how a scope, a user's name and a
password are written; what a caller that has been recognised may do.
Promises: a right that is not in the table cannot be asked for, by a route or by a key; a key never
may do more than the user that it belongs to.
Never: looks anybody up (engine.identity), or knows of cookies and headers (api.http).

Doors:

    rights      ROLES, RIGHTS: the table; `rights_of` a role; NOBODY and ANYBODY, no rights
    principal   Principal: a caller that was recognised; `check_right`, `check_queue` and the like
    actor       Actor: who acts just now, for the audit log; `acting_as`
    audited     ACTIONS: what the audit log records, as a table
    quota       `Quota`: requests a second, jobs a day, bytes waiting; whose it is, `Pace`
    account     names of users, passwords, scopes of keys: read, or refused with what is allowed
    claims      what an ID token says: for us, of whom, and which role that has here
"""
