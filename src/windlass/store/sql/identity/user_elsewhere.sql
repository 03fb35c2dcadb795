-- user_elsewhere: the user whom an identity provider means.
-- params: issuer text, subject text     returns: id, name, role, is_disabled; nothing when there is none yet
-- Index: user_account_subject.
SELECT id, name, role, disabled_at IS NOT NULL AS is_disabled
FROM windlass.user_account WHERE issuer = $1 AND subject = $2
