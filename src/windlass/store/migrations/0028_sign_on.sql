-- 0028_sign_on: logins through OpenID Connect that are under way.
SELECT;
