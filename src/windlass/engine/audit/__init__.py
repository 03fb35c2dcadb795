"""The audit log: who did what to which object, from where, with what before and after.

Owns: the only statements that write and read audit_entry.
Promises: an entry is written in the transaction of what it is about: both are committed, or
neither. It shows no secret and is bounded in size, so that what is recorded never fails for the
record of it. What is written stays as it is: PostgreSQL refuses the rest.
Never: is on the way of a submission, a claim or the end of an attempt; events tell of these.

Doors:
  record   `Entry`, `record` in a transaction; `ask_and_record` of a verb that is one statement
  redact   what was before and after, without secrets and cut short
  refused  failed logins and refused requests: bounded, however many come
  read     filters, pages, and what is older than the retention
"""
