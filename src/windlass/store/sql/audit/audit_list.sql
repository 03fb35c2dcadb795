-- audit_list: entries of the audit log, newest first.
-- params: most int4, then those that engine/audit/read.py puts for {where}     returns: the rows
-- Index: audit_entry primary key; audit_entry_actor_id and the like where somebody asks for one of these.
SELECT * FROM windlass.audit_entry WHERE {where} ORDER BY id DESC LIMIT $1
