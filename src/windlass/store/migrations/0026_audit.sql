-- 0026_audit: the audit log: who did what to which object, from where, with what before and after.
-- Append-only: the triggers below refuse whatever else is tried, by whomever; entries that are old go through
-- windlass.audit_forget alone. A role that may only SELECT, INSERT and execute that function needs no more.

CREATE TABLE windlass.audit_entry (
    id            uuid PRIMARY KEY,                 -- by the clock of whoever wrote it; lists page by it
    at            timestamptz NOT NULL DEFAULT clock_timestamp(), -- by the clock of the database, whatever was said
    actor_kind    text NOT NULL CHECK (actor_kind IN ('user', 'key', 'program', 'anonymous', 'leader', 'sweep', 'schedule', 'node', 'cli')),
    actor_id      text CHECK (length(actor_id) <= 256),      -- user_…, key_…, node_…; NULL: it has only a name
    actor_name    text NOT NULL CHECK (length(actor_name) <= 256),
    credential_id uuid,                             -- of the key or the session that was shown; NULL: none was
    address       text CHECK (length(address) <= 64),        -- NULL: not by way of the API
    request_id    text CHECK (length(request_id) <= 128),
    node_id       uuid,                             -- that wrote it; NULL: none did, but the command line
    action        text NOT NULL CHECK (action ~ '^[a-z_]{1,40}\.[a-z_]{1,40}$'), -- noun.verb
    noun          text NOT NULL GENERATED ALWAYS AS (split_part(action, '.', 1)) STORED,
    object_id     text CHECK (length(object_id) <= 256),     -- as the API shows it; NULL: it has only a name
    object_name   text CHECK (length(object_name) <= 256),
    before        jsonb CHECK (octet_length(before::text) <= 16384), -- without secrets, and bounded
    after         jsonb CHECK (octet_length(after::text) <= 16384),
    note          text CHECK (length(note) <= 1000),
    count         int8                              -- of what one entry stands for; NULL: of one
);
-- Each filter together with the order of a list. Entries are few beside jobs, and read when it matters.
CREATE INDEX audit_entry_actor_id ON windlass.audit_entry (actor_id, id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_entry_actor_name ON windlass.audit_entry (actor_name, id);
CREATE INDEX audit_entry_action ON windlass.audit_entry (action, id);
CREATE INDEX audit_entry_noun ON windlass.audit_entry (noun, id);
CREATE INDEX audit_entry_object_id ON windlass.audit_entry (object_id, id) WHERE object_id IS NOT NULL;
CREATE INDEX audit_entry_object_name ON windlass.audit_entry (object_name, id) WHERE object_name IS NOT NULL;
CREATE INDEX audit_entry_address ON windlass.audit_entry (address, id) WHERE address IS NOT NULL;
CREATE INDEX audit_entry_request_id ON windlass.audit_entry (request_id, id) WHERE request_id IS NOT NULL;
CREATE INDEX audit_entry_at ON windlass.audit_entry (at);

CREATE FUNCTION windlass.audit_entry_stamp() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.at := clock_timestamp();  -- whoever could backdate an entry could have it forgotten
    RETURN NEW;
END
$$;
CREATE TRIGGER audit_entry_stamp BEFORE INSERT ON windlass.audit_entry
    FOR EACH ROW EXECUTE FUNCTION windlass.audit_entry_stamp();

CREATE FUNCTION windlass.audit_entry_keep() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' AND coalesce(current_setting('windlass.audit_forget', true), '') = 'on' THEN
        IF TG_LEVEL = 'STATEMENT' THEN
            RETURN NULL;
        ELSIF OLD.at < now() - interval '30 days' THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
        MESSAGE = format('windlass: the audit log is append-only: %s is refused', TG_OP),
        HINT = 'entries go when they are older than audit_retention_days, by windlass.audit_forget(days, most)';
END
$$;
CREATE TRIGGER audit_entry_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON windlass.audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION windlass.audit_entry_keep();
CREATE TRIGGER audit_entry_keep_young BEFORE DELETE ON windlass.audit_entry
    FOR EACH ROW EXECUTE FUNCTION windlass.audit_entry_keep();

-- The only way out. By the rights of the owner of the table: who calls it needs none on its rows.
CREATE FUNCTION windlass.audit_forget(days int4, most int4) RETURNS int8
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    forgotten int8;
BEGIN
    IF days IS NULL OR days < 30 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('windlass: audit entries are kept for 30 days at least, and not for %s', coalesce(days::text, 'NULL'));
    END IF;
    PERFORM set_config('windlass.audit_forget', 'on', true);
    WITH old AS MATERIALIZED (
        SELECT e.ctid FROM windlass.audit_entry e
        WHERE e.at < now() - days * interval '1 day'
        ORDER BY e.at
        LIMIT greatest(most, 0)
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM windlass.audit_entry e WHERE e.ctid = ANY (ARRAY(SELECT ctid FROM old));
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    PERFORM set_config('windlass.audit_forget', 'off', true);
    RETURN forgotten;
END
$$;
REVOKE ALL ON FUNCTION windlass.audit_forget(int4, int4) FROM PUBLIC;
