-- job_debounce_many: put off jobs that wait for their time; they run with the newest input.
-- params: id uuid[], seconds float8[] (from now), seconds_max float8[] (since the job was made; NULL: any), input text[]
-- returns: id of every job put off. One that is due, has started or is to be cancelled is left as it is.
-- Index: job primary key. In one order, as whoever else asks for several rows of jobs; windlass.debounce says what is done.
SELECT g.id
FROM (SELECT * FROM unnest($1::uuid[], $2::float8[], $3::float8[], $4::text[]) AS u(id, seconds, seconds_max, input) ORDER BY u.id) g
WHERE windlass.debounce(g.id, g.seconds, g.seconds_max, g.input)
