"""What Windlass costs, read as ratios to what the machine can do at all.

    limits.py   every count and every time bound of a benchmark
    child.py    a measurement is a program: one JSON request in, one JSON answer out
    database.py the PostgreSQL to measure on
    schema.py   a schema of one's own for one run
    rows.py     the payload everybody carries
    measure.py  runs taken in turns, medians, ratios, spread
    machine.py  the facts without which a figure means nothing
    report.py   the table on the screen and the JSON under baselines/
    load.py     an HTTP load generator in a process of its own
    bare/       the limits: the same rows and routes with nothing around them
    cpu.py      what a drain took: its time, and the CPU of a worker and of its PostgreSQL
    peers/      other queues on the same servers, with their fastest documented settings

and for Windlass itself:

    jobs.py     the figures of jobs, webhooks.py of webhooks, cluster.py of a cluster; `make bench`
    suite.py    figures one after the other: measured, shown, kept, judged
    figures/    what Windlass is held to, one figure a file
    scale.py    how much is measured: the whole of it, or a quick look
    stage.py    the servers of a run, and a fresh database for each measurement
    inside.py   Windlass inside a measuring process;  node.py  a node as a process of its own
    backlog.py  a million waiting jobs;  claims.py  claims timed one by one
    pace.py     jobs submitted at a steady pace, and when each one began (tasks.py)
    starts.py   the same through anybody's client: from its call to the first line of the task
    figures/beside/  Windlass beside its peers in one run
    submitter.py  a connection that submits;  http_jobs.py  webhooks to submit
    receiver.py receivers in processes of their own;  healthy.py  deliveries at a steady pace
    allowed.py  the settings of a node that may call them
    until.py    waiting for a fact in another process
    mixed.py    load of every kind;  open_transactions.py  what a user may leave open beside it
    sweep.py    the figures of the sweep;  coordinators.py  dead ones and living ones in Redis
    refresh.py  the figures of refreshing executions;  executions.py  a million of them to refresh
    start.py    the figures of starting;  small_app.py  the App of a node that is started
    pinger.py   a process that pings Redis, and how long it waited;  prober.py  the same of a node

Each measured thing offers `async def measure(...) -> Sample`, so that `interleave` can take
them in turns. Neither the limits nor the peers import anything of Windlass.
"""
