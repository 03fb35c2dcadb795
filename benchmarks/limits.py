"""Every count and every time bound of a benchmark, with the relations between them asserted."""

from __future__ import annotations

# Runs are taken in turns, A B A B A B; the median of an odd number is one that was measured.
ROUNDS = 3
assert ROUNDS % 2 == 1

# The work: the same rows for Windlass, for the bare speeds and for the peers.
PAYLOAD_BYTES = 220
DRAIN_JOBS = 20_000
DRAIN_BATCH = 500
assert DRAIN_JOBS % DRAIN_BATCH == 0
INSERT_STATEMENTS, INSERT_BATCH = 5, 10_000

# The load on an HTTP route. Every request is built before the clock starts, hence the bound.
LOAD_CONNECTIONS = 32
LOAD_REQUESTS, LOAD_REQUESTS_MAX = 20_000, 200_000
LOAD_WARM_UP_REQUESTS = 1_000
assert LOAD_CONNECTIONS <= LOAD_WARM_UP_REQUESTS < LOAD_REQUESTS <= LOAD_REQUESTS_MAX
RESPONSE_HEAD_BYTES_MAX = 64 * 1024

# The pace at which the latency of a single job is measured, and over how many connections: enough
# that one slow answer does not hold back the next submission.
PACE_PER_SECOND = 50
PACE_CONNECTIONS = 8

# Fresh clients whose first call is timed, in each round.
FIRST_CALLS = 5

# Starts of executions, and single jobs beside them: so many requests under way.
STARTS_IN_FLIGHT = 64
assert STARTS_IN_FLIGHT <= LOAD_WARM_UP_REQUESTS

# This checkout and another one, in turns: how many, and what is done in each. Turns of a node that
# stays are seconds; those of a process that is started for it are fewer and longer.
VERSUS_LATENCY_TURNS, VERSUS_TURNS, VERSUS_LONG_TURNS = 21, 15, 9
assert VERSUS_LATENCY_TURNS % 2 == VERSUS_TURNS % 2 == VERSUS_LONG_TURNS % 2 == 1
VERSUS_JOBS, VERSUS_REQUESTS = 2 * PACE_PER_SECOND, 8_000
assert LOAD_CONNECTIONS <= VERSUS_REQUESTS <= LOAD_REQUESTS_MAX

# Claims are timed in batches of this many, beside a small backlog and beside a large one.
CLAIM_JOBS = 50
SMALL_BACKLOG = 1_000
assert CLAIM_JOBS < SMALL_BACKLOG
# An open transaction is compared with none over this share of the jobs: the last and the first.
HELD_SHARE = 4

# Receivers of deliveries. 1,000 healthy hosts and those to come stay within 127.1.0.0/22.
HOSTS_MAX = 1_000
RECEIVER_BACKLOG = 1_024
# Jobs for healthy hosts come at this pace, beside a dead one or not.
HEALTHY_PER_SECOND = 100
# What a job allows a host that never answers, and a dripping one.
SILENT_SECONDS, DRIP_SECONDS = 2.0, 2.0
# How long a late receiver takes, and every how many deliveries go to it while a node is resized:
# its slots are never empty, and its loop is never idle.
LATE_SECONDS, LATE_EVERY = 0.1, 20
# Deliveries that come before memory is read for the first time.
ENDLESS_WARM_UP = 100
ENDLESS_HOSTS = 10
assert ENDLESS_HOSTS <= HOSTS_MAX

# Coordinators that are swept up: a hundred of them live, and beat far more often than nodes do.
SWEEP_SMALL, SWEEP_LIVING, COORDINATOR_KEYS = 10_000, 100, 6
assert SWEEP_SMALL % SWEEP_LIVING == 0
BEAT_EVERY_SECONDS, BEAT_GROUPS = 0.05, 10
PING_EVERY_SECONDS = 0.0002
# From where on Redis logs a command, and how many it keeps: more than a sweep of all takes.
SLOW_MICROS, SLOW_LOG_MAX = 100, 10_000

# Requests of each sort of caller, after as many as it takes to be known; what it may cost to know.
AUTH_REQUESTS, AUTH_WARM_REQUESTS, AUTH_ADDED_MS_MAX = 4_000, 200, 0.15

# A door under siege: connections that say nothing, heads and batches of so many bytes; beside a few
# callers who submit and think. Normal load alone is measured for this share of the siege's time.
SIEGE_SILENT, SIEGE_HEAD_BYTES, SIEGE_BATCH_BYTES = 1_200, 100 * 1024 * 1024, 64 * 1024 * 1024
SIEGE_NICENESS = 10
CALLERS, CALLERS_THINK_SECONDS = 8, 0.02
SIEGE_CALM_SHARE, SIEGE_SECONDS_MAX, SIEGE_LOOK_SECONDS = 0.3, 60.0, 0.2

# Mixed load beside a transaction that is left open: callers of each kind, who rest between two asks
# and wait so long for an end; schedules that fire each second meanwhile. The same load alone is
# measured before and after each, for as long as that or for less.
MIXED_CALLERS, MIXED_THINK_SECONDS, MIXED_WAIT_SECONDS = 4, 0.02, 10.0
MIXED_BATCH = 10
# Callers who need what is held and come again and again, beside the load; so many of each kind.
INSISTING_CALLERS, INSISTING_THINK_SECONDS = 4, 1.0
# Rows of one kind that a transaction holds at once.
HELD_MANY = 40
MIXED_SCHEDULES, MIXED_ALONE_SECONDS_MAX, MIXED_SECONDS_MAX = 4, 15.0, 60.0
# How long whoever needed a row has, once it is free again.
MIXED_HEAL_SECONDS_MAX = 60.0

# A node that has just started is left alone for this long before it is called idle.
SETTLE_SECONDS = 5.0
# Memory is read so often, and for so long, once a node has seen its backlog.
MEMORY_READINGS, MEMORY_EVERY_SECONDS = 20, 0.5
# Submissions while Redis is killed, from another process than the node.
OUTAGE_BATCH = 500
# How often a benchmark looks whether something has come about. It costs the machine something.
LOOK_EVERY_SECONDS = 0.05
# How late the end of a drain may be noticed: a few thousandths of the whole.
LAST_END_WITHIN_SECONDS = 0.002
# Jobs of one instant are submitted this long before it.
DUE_IN_SECONDS = 2.0

# A run that takes longer than this has failed, however slow the machine.
RUN_SECONDS_MAX = 120.0
INSTALL_SECONDS_MAX = 300.0
READY_SECONDS_MAX = 30.0
# A child that was asked to stop is killed after this.
STOP_SECONDS_MAX = 5.0
# A run's child must be able to fail, and be stopped, before the run itself is given up.
CHILD_SECONDS_MAX = 100.0
assert CHILD_SECONDS_MAX + STOP_SECONDS_MAX < RUN_SECONDS_MAX
# A million rows, their indexes and a vacuum.
FILL_SECONDS_MAX = 180.0
# How much of a failed child's complaint is shown.
COMPLAINT_CHARS_MAX = 2_000

# A node is resized so often, under load; the resize may take so long to let attempts end.
RESIZE_EVERY_SECONDS, RESIZE_DRAIN_SECONDS = 2.0, 5.0
assert LATE_SECONDS < RESIZE_DRAIN_SECONDS < CHILD_SECONDS_MAX
# How often somebody asks meanwhile whether the node lives, and how long an answer may take.
PROBE_EVERY_SECONDS, PROBE_SECONDS_MAX = 0.005, 5.0

# What one node and two drain: each job waits so long, each node has so many slots. The jobs are due
# at one instant, by which the nodes have started and the jobs are there.
PAIR_WAIT_SECONDS, PAIR_SLOTS, PAIR_DUE_IN_SECONDS = 0.05, 16, 6.0
assert PAIR_DUE_IN_SECONDS < CHILD_SECONDS_MAX

# A leader that was struck is followed within this, or the run is over; how often we look.
FOLLOWED_SECONDS_MAX, LOOK_SECONDS = 30.0, 0.005

# Executions that are refreshed: jobs of each, and how long it may take to write a million of them
# and to refresh them. What it costs is told for so many.
EXECUTION_JOBS, REFRESH_FILL_SECONDS_MAX, REFRESH_RUN_SECONDS_MAX = 5, 900.0, 300.0
PER_EXECUTIONS, REFRESH_LOOK_SECONDS = 400, 0.1
# When a node is killed so many are marked, some of each shard.
TAKEN_OVER_EXECUTIONS = 6_400

# A fresh interpreter imports the SDK so often, and is to take no longer than this.
IMPORTS, IMPORT_MS_MAX = 11, 100.0
assert IMPORTS % 2 == 1

# Schedules of one instant are put this long before it; so many times fewer are compared with them.
SCHEDULES_DUE_IN_SECONDS, SCHEDULES_SHARE = 15.0, 4
assert SCHEDULES_DUE_IN_SECONDS < CHILD_SECONDS_MAX
# Schedules that fire every second while leaders are killed, and how long all of that may take.
SCHEDULES_KILLED, SCHEDULE_KILLS_SECONDS_MAX = 10, 1_800.0
assert SIEGE_SECONDS_MAX * (1 + SIEGE_CALM_SHARE) + READY_SECONDS_MAX < RUN_SECONDS_MAX
assert MIXED_SECONDS_MAX + 2 * MIXED_WAIT_SECONDS < CHILD_SECONDS_MAX
