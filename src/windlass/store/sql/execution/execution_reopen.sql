-- execution_reopen: an execution goes on after its end.
-- params: id uuid, timeout float8 (seconds from now on; NULL: any time), keeps_doom bool (it has failed for good, and only a
--         compensation is tried again), type text, data text (of the event)
-- returns: nothing
-- Index: primary key; the caller holds the row. A refresh of an older snapshot loses by refresh_seq. How it had ended stays on
-- record: its end becomes an event row, of the same id (event_window). (A CASE: no plan enters by an index of ends.)
WITH ended AS (
    INSERT INTO windlass.event (at, noun, subject, type, data)
    SELECT e.refreshed_at, 'execution', replace(e.id::text, '-', ''), 'finished',
           json_build_object('state', e.state, 'workflow', e.workflow, 'version', e.version, 'error', e.error)
    FROM windlass.execution e WHERE e.id = $1 AND CASE WHEN e.finished_at IS NOT NULL THEN true END
), opened AS (
    UPDATE windlass.execution e
    SET state = 'running', finished_at = NULL, output = NULL, error = NULL, cancel_requested_at = NULL, paused_at = NULL,
        unheard_until = NULL, doom = CASE WHEN $3::bool THEN e.doom END, begun_at = coalesce(e.begun_at, clock_timestamp()),
        deadline = clock_timestamp() + $2::float8 * interval '1 second', refresh_seq = e.refresh_seq + 1,
        refreshed_at = clock_timestamp()
    WHERE e.id = $1
)
INSERT INTO windlass.event (noun, subject, type, data)
VALUES ('execution', replace($1::uuid::text, '-', ''), $4, $5::json)
