-- job_debounce_many: put off jobs that wait for their time; they run with the newest input.
-- params: id uuid[], seconds float8[] (from now), seconds_max float8[] (since the job was made; NULL: any), input text[], kind text[],
--         target text[], task text[], limits text[], locks text[] (of the limits, JSON arrays)
-- returns: id of every job put off. One that is due, has started, is to be cancelled or is of another kind is left as it is.
-- Index: job primary key. In one order, as whoever else asks for several rows of jobs; windlass.debounce says what is done.
SELECT g.id
FROM (SELECT * FROM unnest($1::uuid[], $2::float8[], $3::float8[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
          AS u(id, seconds, seconds_max, input, kind, target, task, limits, locks) ORDER BY u.id) g
WHERE windlass.debounce(g.id, clock_timestamp(), g.seconds, g.seconds_max, g.input, g.kind, g.target, g.task, g.limits::json,
                        ARRAY(SELECT json_array_elements_text(g.locks::json)))
