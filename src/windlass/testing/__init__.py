"""Testing applications that use Windlass: the pytest fixture `windlass_local`, and private servers.

Promises: a test's App runs on a real node, on a real PostgreSQL and Valkey, and nothing runs behind
the test's back. Its time is virtual: waiting for three days takes no time (docs/testing.md).

    plugin           the fixture `windlass_local`, found by pytest
    servers          a PostgreSQL and a Valkey of one's own, for a test run or a benchmark
    local            what a test holds: drain, advance, calls, fakes, jobs
    local_run        one stage for a whole run of tests, emptied for each of them
    local_stage      the servers and the node of that run, in a thread
    local_clock      the virtual clock of the database and of the process
    local_gate       nothing is claimed until the test says so
    local_quiet      running the node until nothing is left to do now
    local_calls      which tasks were called with what; fakes instead of them
    local_capture    recording what code enqueues, without running it
    local_seen       jobs and executions as a test looks at them
    local_transport  the way of the test's App to the node
    local_sql        what tests ask the database beyond what a node does
"""
