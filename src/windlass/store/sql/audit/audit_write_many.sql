-- audit_write_many: entries of the audit log, in the transaction of what they are about.
-- params: id uuid[], actor_kind text[], actor_id text[], actor_name text[], credential_id uuid[], address text[],
--         request_id text[], node_id uuid[], action text[], object_id text[], object_name text[], before text[], after text[],
--         note text[], count int8[]     returns: nothing
-- Index: the primary key. `at` is the database's to say.
INSERT INTO windlass.audit_entry
    (id, actor_kind, actor_id, actor_name, credential_id, address, request_id, node_id,
     action, object_id, object_name, before, after, note, count)
SELECT e.id, e.actor_kind, e.actor_id, e.actor_name, e.credential_id, e.address, e.request_id, e.node_id,
       e.action, e.object_id, e.object_name, e.before::jsonb, e.after::jsonb, e.note, e.count
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::uuid[],
            $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::int8[])
    AS e(id, actor_kind, actor_id, actor_name, credential_id, address, request_id, node_id,
         action, object_id, object_name, before, after, note, count)
