-- login_try_clear: whoever came in begins anew.
-- params: subject bytea     returns: nothing
DELETE FROM windlass.login_try WHERE subject = $1
