-- login_under_way_take: the browser that began a login is back. It ends here, whatever comes of it.
-- params: state_hash bytea, browser_hash bytea
-- returns: return_to, session_id, is_good (it is not too old), now float8 (by which tokens are judged); nothing when there
--          is none of this browser
-- One statement: of two that bring the same state one has the row. Index: primary key.
DELETE FROM windlass.login_under_way WHERE state_hash = $1 AND browser_hash = $2
RETURNING return_to, session_id, expires_at > clock_timestamp() AS is_good,
          EXTRACT(epoch FROM clock_timestamp())::float8 AS now
