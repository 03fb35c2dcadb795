"""What Windlass costs, read as ratios to what the machine can do at all.

    limits.py   every count and every time bound of a benchmark
    child.py    a measurement is a program: one JSON request in, one JSON answer out
    database.py the PostgreSQL to measure on
    schema.py   a schema of one's own for one run
    rows.py     the payload everybody carries
    measure.py  runs taken in turns, medians, ratios, spread
    machine.py  the facts without which a figure means nothing
    report.py   the table on the screen and the JSON under baselines/
    bare/       the limits: the same rows and routes with nothing around them
    cpu.py      what a drain took: its time, and the CPU of a worker and of its PostgreSQL
    peers/      other queues on the same servers, with their fastest documented settings

and for Windlass itself:

    suites/     which figures are measured, shown and kept together; `make bench` takes them all
    suite.py    figures one after the other: measured, shown, kept, judged
    figures/    what Windlass is held to, one figure a file
    scale.py    how much is measured: the whole of it, or a quick look
    stage.py    the servers of a run, and a fresh database for each measurement
    inside.py   Windlass inside a measuring process;  node.py  a node as a process of its own
    backlog.py  a million waiting jobs;  claims.py  claims timed one by one
    tasks.py    tasks that say when they began;  small_app.py  the App of a node that is started
    durables.py, flows.py  durable functions and workflows to run;  timetable.py  schedules
    executions.py  a million executions to refresh;  coordinators.py  dead and living ones in Redis
    figures/beside/  Windlass beside its peers in one run
    http_jobs.py  webhooks to submit;  allowed.py  the settings of a node that may deliver them
    open_transactions.py  what a user may leave open beside everything
    until.py    waiting for a fact in another process
    traffic/    processes that load a node and look at it: callers and submitters at a steady pace
                or as fast as they can, receivers, sieges, who pings Redis and probes a node

Each measured thing offers `async def measure(...) -> Sample`, so that `interleave` can take
them in turns. Neither the limits nor the peers import anything of Windlass.
"""
