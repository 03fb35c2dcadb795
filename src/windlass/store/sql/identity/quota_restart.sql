-- quota_restart: what waits of a user or a key is not known any more: it had no quota of bytes for a while.
-- params: subject uuid     returns: nothing
-- Index: quota_use primary key.
UPDATE windlass.quota_use SET counted_at = NULL WHERE subject = $1
