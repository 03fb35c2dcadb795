-- database_ping: are you there?
-- params: none     returns: one row
SELECT 1 AS one
