-- 0017_guard: one name for a host.

-- A host has one name, as model/target.py says, also for jobs that come by SQL. What is not ASCII cannot be
-- written as IDNA has it here, so it is refused; what is no name at all has no target, and the job is refused when it runs.
CREATE OR REPLACE FUNCTION windlass.target_of(url text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    part text[] := regexp_match(lower(url), '^(https?)://([^/?#:@\[\]]+|\[[0-9a-f:.]+\])(?::([0-9]*))?(?:[/?#]|$)');
    name text := part[2];
    port int := coalesce(nullif(part[3], ''), CASE part[1] WHEN 'https' THEN '443' ELSE '80' END)::numeric % 100000;
BEGIN
    IF part IS NULL OR length(part[3]) > 5 AND ltrim(part[3], '0') ~ '^.{6}' OR port NOT BETWEEN 1 AND 65535 THEN
        RETURN NULL;
    END IF;
    IF name LIKE '[%' THEN
        BEGIN
            name := host(btrim(name, '[]')::inet);
        EXCEPTION WHEN data_exception THEN
            RETURN NULL;
        END;
        IF name LIKE '::ffff:%.%' THEN
            name := substr(name, 8);
        ELSIF name LIKE '%.%' THEN -- PostgreSQL writes ::102:304 as ::1.2.3.4
            SELECT format('[::%s:%s]', to_hex(d[1] * 256 + d[2]), to_hex(d[3] * 256 + d[4])) INTO name
            FROM (SELECT string_to_array(substr(name, 3), '.')::int[] AS d) dotted;
        ELSE
            name := '[' || name || ']';
        END IF;
    ELSIF name ~ '[^ -~]' THEN
        RAISE EXCEPTION 'the host of input.url must be written in ASCII, as IDNA has it: xn--…' USING ERRCODE = '22023';
    ELSE
        IF name !~ '^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?$' OR length(name) > 253 THEN
            RETURN NULL;
        END IF;
        IF name ~ '(^|\.)([0-9]+|0x[0-9a-f]*)\.?$'
            AND name !~ '^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$' THEN
            RETURN NULL;
        END IF;
        name := regexp_replace(name, '\.$', '');
    END IF;
    RETURN CASE port WHEN 443 THEN name ELSE name || ':' || port END;
END
$$;

-- Targets that were known by another spelling get their one name. Of several that mean one host the one that is written so, or
-- else the first, is kept; it is disabled when any of them was. What is not ASCII stays, and nothing calls it any more. Jobs
-- stay as they are: one that was accepted for another spelling is refused when it runs (strategies/http.py).
CREATE FUNCTION windlass.target_renamed(target text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN target ~ '[^ -~]' THEN target ELSE coalesce(windlass.target_of('https://' || target), target) END
$$;
UPDATE windlass.target known SET is_enabled = false, disabled_at = other.disabled_at, disabled_reason = other.disabled_reason, changed_at = clock_timestamp()
FROM windlass.target other
WHERE windlass.target_renamed(known.host) = windlass.target_renamed(other.host) AND other.host <> known.host AND NOT other.is_enabled AND known.is_enabled;
DELETE FROM windlass.target other
WHERE EXISTS (
    SELECT FROM windlass.target kept
    WHERE windlass.target_renamed(kept.host) = windlass.target_renamed(other.host)
      AND (kept.host <> windlass.target_renamed(kept.host), kept.host) < (other.host <> windlass.target_renamed(other.host), other.host));
UPDATE windlass.target SET host = windlass.target_renamed(host), changed_at = clock_timestamp()
WHERE host <> windlass.target_renamed(host);
DROP FUNCTION windlass.target_renamed(text);
