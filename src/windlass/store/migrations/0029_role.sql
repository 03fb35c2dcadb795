-- 0029_role: what an application role that owns nothing may do.
SELECT;
