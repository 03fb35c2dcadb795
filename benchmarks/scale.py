"""How much is measured: the whole of it, or a quick look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.limits import DRAIN_JOBS, HOSTS_MAX, INSERT_STATEMENTS, LOAD_REQUESTS, ROUNDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    rounds: int = ROUNDS
    drain_jobs: int = DRAIN_JOBS
    # Jobs of one instant.
    due_jobs: int = 5_000
    # Statements, or requests, of INSERT_BATCH jobs each.
    batches: int = INSERT_STATEMENTS
    requests: int = LOAD_REQUESTS
    # Jobs submitted at PACE_PER_SECOND.
    paced_jobs: int = 1_000
    idle_seconds: float = 20.0
    # Claims are timed beside a backlog of this many, and of SMALL_BACKLOG.
    backlog_jobs: int = 1_000_000
    backlog_claims: int = 400
    # Jobs drained under one open transaction; the first and the last quarter are compared.
    held_jobs: int = 200_000
    outage_jobs: int = 40_000
    # Deliveries to one fast receiver.
    deliveries: int = 5_000
    # Jobs for a dead host, and those for healthy ones that come meanwhile.
    dead_jobs: int = 10_000
    healthy_jobs: int = 2_000
    healthy_hosts: int = HOSTS_MAX
    drips: int = 16
    endless_deliveries: int = 200
    # Dead coordinators beside whom SWEEP_SMALL are compared.
    sweep_coordinators: int = 50_000
    # Executions to refresh, with EXECUTION_JOBS each.
    refresh_executions: int = 1_000_000
    # Leaders that are killed, and frozen.
    kills: int = 20
    freezes: int = 20
    # Deliveries that outlast a course of resizes.
    resize_jobs: int = 20_000
    # Drained by one node and by two: jobs that wait, and jobs that do nothing.
    pair_waits: int = 3_200
    pair_noops: int = 40_000
    # Executions of a chain, those that run one at a time, and the items of a large fan-out.
    chains: int = 4_000
    light_chains: int = 30
    fan_items: int = 100_000
    # Schedules of one second, those that fire once a minute, and leaders killed under others.
    due_schedules: int = 100_000
    steady_schedules: int = 10_000
    steady_minutes: int = 3
    schedule_kills: int = 200
    # How long a door is under siege.
    siege_seconds: float = 60.0
    # How long a transaction is left open beside load, of each kind and with a row of each table.
    open_seconds: float = 60.0
    open_names: tuple[str, ...] = ()  # of those alone; (): of all
    # The checkout that this one is measured beside; None: no figure asks for one.
    other: Path | None = None
    turns_max: int = 99  # of the two
    # Transactions that enqueue a task, in each of three ways.
    commits: int = 200
    # Tasks that do nothing, beside as many noop jobs.
    task_jobs: int = 60_000
    # Nodes that are started, of each kind; commands as often.
    node_starts: int = 7
    # Durable functions of ten steps: started at once, one by one, and those of the peer.
    durable_functions: int = 3_000
    durable_single_functions: int = 1_000
    durable_peer_functions: int = 300
    # Starts of executions, and as many single jobs beside them.
    execution_starts: int = 8_000
    # Jobs of each client at PACE_PER_SECOND, those that write 16 bytes, and chains beside flows.
    client_jobs: int = 600
    write_jobs: int = 20_000
    peer_chains: int = 2_000


FULL = Scale()
# For a look while something is being changed. Its figures are rougher, and some flatter us.
QUICK = Scale(
    rounds=1,
    drain_jobs=10_000,
    task_jobs=10_000,
    commits=20,
    batches=2,
    requests=5_000,
    paced_jobs=250,
    idle_seconds=10.0,
    backlog_jobs=100_000,
    backlog_claims=200,
    held_jobs=40_000,
    outage_jobs=20_000,
    deliveries=2_000,
    dead_jobs=2_000,
    healthy_jobs=500,
    drips=4,
    endless_deliveries=50,
    refresh_executions=100_000,
    kills=5,
    freezes=2,
    pair_waits=960,
    pair_noops=10_000,
    chains=1_000,
    light_chains=10,
    fan_items=10_000,
    due_schedules=20_000,
    steady_minutes=2,
    schedule_kills=10,
    siege_seconds=15.0,
    open_seconds=5.0,
    node_starts=3,
    durable_functions=1_000,
    durable_single_functions=300,
    durable_peer_functions=100,
    execution_starts=2_000,
    client_jobs=100,
    write_jobs=5_000,
    peer_chains=500,
)
