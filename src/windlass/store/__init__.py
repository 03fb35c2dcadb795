"""PostgreSQL, the truth: connection pools, migrations, and one SQL statement a file in sql/.

Owns: every connection to PostgreSQL but those of leases and elections (runtime.cluster), what its
failures mean, and the schema.
Promises: every call ends within its deadline; a server that cannot be reached is `Unavailable`, a
broken connection at a commit is `Unknown` (somebody has to look), a row that another transaction
holds is `RowLocked`: never a raw driver error. Deadlocks and serialization failures are tried
again. Migrations only add, so nodes of the release before keep working.
Never: knows what a statement is for.

Doors:
  database     `Database`: run, read, settle and ask, one statement or several together; the pools
  statements   `statement(name)`: the text of sql/<room>/<name>.sql, wherever it stands, with the
               columns of jobs filled in; `bind`: parameters by the names of its header
  migrate      bring the schema up to date under an advisory lock; what is pending
  roles        the role that a node logs in as, which owns nothing; that of who only submits by SQL
  address      what a database URL says: several hosts, failover, PgBouncer
  replica      a read replica, for lists and statistics
  row_gate     one try at a time, with backoff, for callers that want the same locked row

A new statement is a file in sql/<noun>/, named noun_verb[_many], which opens with what it does; a
change of the schema is a new file in migrations/.
"""
