-- user_any: is there a user?
-- params: none     returns: is_any
SELECT EXISTS (SELECT FROM windlass.user_account) AS is_any
