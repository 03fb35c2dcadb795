-- 0026_audit: the audit log.
SELECT;
