-- 0003_target: whom webhooks call.
-- A target is a host and port. Its row is the truth about its breaker and limits; nodes keep copies that are at most
-- seconds old, and Redis only counts and hints.

CREATE TABLE windlass.target (
    host                text PRIMARY KEY CHECK (length(host) BETWEEN 1 AND 300), -- model/target.py says how it is written
    is_enabled          boolean NOT NULL DEFAULT true,
    disabled_at         timestamptz,
    disabled_reason     text,
    rate                double precision CHECK (rate > 0),     -- deliveries a second, of all nodes together; NULL: no limit
    max_running         integer CHECK (max_running >= 1),      -- at once, of all nodes together; NULL: no limit
    breaker_failures    integer NOT NULL DEFAULT 10 CHECK (breaker_failures >= 0), -- in a row, to open; 0: never
    breaker_rest_seconds     double precision NOT NULL DEFAULT 5 CHECK (breaker_rest_seconds > 0),
    breaker_rest_max_seconds double precision NOT NULL DEFAULT 300 CHECK (breaker_rest_max_seconds >= breaker_rest_seconds),
    breaker             text NOT NULL DEFAULT 'closed' CHECK (breaker IN ('closed', 'open', 'half_open')),
    opened_at           timestamptz,                           -- NULL: closed
    open_until          timestamptz,                           -- when a probe may go; NULL: closed
    opens               integer NOT NULL DEFAULT 0,            -- times it opened since it was last closed
    breaker_reason      text,                                  -- the failure that opened it
    succeeded           bigint NOT NULL DEFAULT 0,             -- deliveries, told by nodes every few seconds
    failed              bigint NOT NULL DEFAULT 0,
    last_answer_at      timestamptz,                           -- any answer at all
    last_failure_at     timestamptz,
    created_at          timestamptz NOT NULL DEFAULT now(),
    changed_at          timestamptz NOT NULL DEFAULT clock_timestamp(), -- of all above the two counts
    CONSTRAINT target_breaker CHECK ((breaker = 'closed') = (opened_at IS NULL) AND (breaker = 'closed') = (open_until IS NULL))
);
CREATE INDEX target_changed ON windlass.target (changed_at);
CREATE INDEX target_special ON windlass.target (host)
    WHERE NOT is_enabled OR rate IS NOT NULL OR max_running IS NOT NULL OR breaker <> 'closed' OR breaker_failures <> 10;

-- As model/target.py; for jobs that come by SQL.
CREATE FUNCTION windlass.target_of(url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN part IS NULL THEN NULL
                WHEN coalesce(ltrim(part[3], '0'), CASE part[1] WHEN 'https' THEN '443' ELSE '80' END) = '443' THEN part[2]
                ELSE part[2] || ':' || coalesce(ltrim(part[3], '0'), '80') END
    FROM regexp_match(lower(url), '^(https?)://([^/?#:@\[\]]+|\[[0-9a-f:.]+\])(?::([0-9]+))?(?:[/?#]|$)') AS part
$$;
