-- audit_forget: remove a batch of what is older than the retention from the audit log.
-- params: days int4, most int4     returns: forgotten
-- Index: audit_entry_at, inside the function: nothing else may remove an entry.
SELECT windlass.audit_forget($1::int4, $2::int4) AS forgotten
