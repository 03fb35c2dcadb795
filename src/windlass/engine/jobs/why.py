"""Why is this job not running? Every gate that can hold a job back says so, since when, until when.

The facts come from one statement (job_why); the words and the estimate are made here. A step that
no node performs waits for a signal, an approval, a child or its fan-out (`explain_awaited`); what
is named can be asked in turn.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.jobs.read import read_job
from windlass.engine.locks.why import lock_reasons
from windlass.limits import CRASHES_MAX, CRASHES_SOLO
from windlass.model.json.strict import read_stored
from windlass.model.workflow.step_kinds import AWAITED_KINDS, complete
from windlass.store.database import Database, Record
from windlass.strategies.builtin import INPUT_CHECKS

# job_why looks at the ends of so many seconds, and counts so many jobs ahead at most.
_LATELY_SECONDS: Final = 10
_AHEAD_MAX: Final = 1_000
_MESSAGE_CHARS_MAX: Final = 1_000
_NAMED_MAX: Final = 20
# Gates at which a job waits for a node that would take it.
NOBODY: Final = {"no_worker", "not_served", "nodes_paused", "unknown_task", "unknown_kind"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    gate: str
    reason: str
    since: datetime | None = None  # None: not known
    until: datetime | None = None  # None: nobody can say


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    state: str
    summary: str
    gates: list[Gate]
    estimated_start: datetime | None  # None: it cannot be said, or the job has started


async def explain(database: Database, job_id: UUID) -> Why:
    """Raises NotFound."""
    rows = await database.read("job_why", job_id)
    if not rows:
        job = await read_job(database, job_id)
        if job["finished_at"] is None:
            rows = await database.read("job_why", job_id)  # replayed between the two
        if not rows:
            return await _ended_for_want(database, job) if job["cause"] in NOBODY else _ended(job)
    facts = rows[0]
    if facts["state"] == "running":
        why = _running(facts)
        awaited = await explain_awaited(database, job_id) if facts["callback_until"] else None
        if awaited is None:
            return why
        gate = Gate(
            gate=awaited.gate, reason=awaited.reason, since=awaited.since, until=awaited.until
        )
        return replace(why, summary=awaited.reason, gates=[gate])
    locks = await _locks(database, job_id, facts)
    gates = [*locks, *_gates(facts)]
    performers = await _performers(database, job_id, facts["kind"])
    gates += performers
    # Who waits for somebody that is not there does not wait for a slot.
    if not any(gate.gate in NOBODY for gate in gates):
        gates += _slot_gates(facts)
    return Why(
        state=facts["state"],
        summary=gates[0].reason if gates else "it is due and will be taken at the next claim",
        gates=gates,
        estimated_start=_estimate(facts, gates),
    )


async def _ended_for_want(database: Database, job: Record) -> Why:
    """Nobody could perform it. Could somebody now?"""
    why = _ended(job)
    return replace(why, gates=[*why.gates, *await _performers(database, job["id"], job["kind"])])


async def _locks(database: Database, job_id: UUID, facts: Record) -> list[Gate]:
    """The locks that it waits for, with who has them."""
    if facts["parked_for"] != "lock":
        return []
    return [
        Gate(gate=found.gate, reason=found.reason, since=found.since, until=found.until)
        for found in await lock_reasons(database, job_id)
    ]


async def _performers(database: Database, job_id: UUID, kind: str) -> list[Gate]:
    """Who performs a plugin's kind, or has a task, if not everybody does."""
    if kind == "python":
        return await _task(database, job_id)
    if kind in INPUT_CHECKS:
        return []
    nodes = await database.read("node_kind_list", kind)
    able = [ids.show("node", node["id"]) for node in nodes if node["is_able"]]
    if not nodes or len(able) == len(nodes):
        return []
    if not able:
        reason = f"of {len(nodes)} living nodes that take jobs none performs kind {kind!r}"
        return [Gate(gate="unknown_kind", reason=f"{reason}; start one that has its plugin")]
    named = " ".join(able[:5])
    reason = f"of {len(nodes)} living nodes that take jobs {len(able)} performs kind {kind!r}"
    return [Gate(gate="kind_of_few", reason=f"{reason}: {named}")]


async def _task(database: Database, job_id: UUID) -> list[Gate]:
    (found,) = await database.read("node_task_list", job_id)
    task, nodes, able = found["task"], found["nodes"], found["able"]
    if task is None or not nodes or able == nodes:
        return []
    if able:
        reason = f"only {able} of {nodes} living nodes that take jobs have the task {task!r}"
        return [Gate(gate="task_of_few", reason=reason)]
    known = found["known"]
    shown = ", ".join(known[:_NAMED_MAX]) or "none; start one with --app"
    more = f" and {len(known) - _NAMED_MAX} more" if len(known) > _NAMED_MAX else ""
    reason = f"no live node has the task {task!r}{near(task, known)}; nodes know: {shown}{more}"
    return [Gate(gate="unknown_task", reason=reason)]


def near(name: str, known: Sequence[str]) -> str:
    """For a name that may be misspelt."""
    alike = get_close_matches(name, known, n=1)
    return f" (did you mean {alike[0]!r}?)" if alike else ""


def _ended(job: Record) -> Why:
    cause = f" ({job['cause']})" if job["cause"] else ""
    tried = "1 attempt" if job["attempt"] == 1 else f"{job['attempt']} attempts"
    reason = f"it has ended as {job['state']}{cause} after {tried}"
    gates = [Gate(gate="ended", reason=reason, since=job["finished_at"])]
    if job["state"] == "dead":
        error = read_stored(job["error"]) if job["error"] else None
        said = str(error.get("message", "") if isinstance(error, dict) else "")[:_MESSAGE_CHARS_MAX]
        gates += [Gate(gate="error", reason=said)] if said else []
        gates.append(Gate(gate="remedy", reason=_remedy(job)))
    return Why(state=job["state"], summary=reason, gates=gates, estimated_start=None)


def _remedy(job: Record) -> str:
    """What to do about a dead letter."""
    cause = job["cause"] or ""
    named = "http" if cause.startswith("http ") else cause
    first = _REMEDIES.get(named, "when its cause is mended")
    group = f"--cause {shlex.quote(cause)}" if cause else f"--queue {job['queue']}"
    return (
        f"{first}, try it again: windlass job retry {ids.show('job', job['id'])}; "
        f"all that died of it: windlass dead replay {group}"
    )


# By the cause of a death; `http`: an answer that is no success.
_REMEDIES: Final[Mapping[str, str]] = {
    "http": "when the receiver answers with a success",
    "gone": "the receiver said 410 Gone and was disabled; when it is enabled",
    "egress_refused": "when WINDLASS_EGRESS_ALLOW lets deliveries reach that address",
    "secret": "when its secret is there",
    "auth": "when its credentials are right",
    "timeout": "when it is quicker, or its timeout longer",
    "worker_died": "three nodes died while running it: when it cannot kill one any more",
    "unknown_task": "when a node has its task",
    "unknown_kind": "when a node has its plugin",
    "invalid_input": "its input does not fit; submit it anew, or when the code takes it",
    "result_unusable": "when its function returns what it promises",
    "result_too_large": "when its result is smaller",
}


def _running(facts: Record) -> Why:
    if facts["callback_until"] is not None:
        return _awaited(facts)
    node = ids.show("node", facts["node_id"])
    reason = f"attempt {facts['attempt']} runs on {node}"
    gates = [Gate(gate="running", reason=reason, since=facts["started_at"])]
    if facts["listens_for"]:
        gates.append(Gate(gate="signal", reason=_listens(facts["listens_for"])))
    if facts["cancel_requested_at"] is not None:
        asked, since = "it was asked to stop and cannot succeed now", facts["cancel_requested_at"]
        gates.append(Gate(gate="cancel_requested", reason=asked, since=since))
    return Why(state="running", summary=reason, gates=gates, estimated_start=None)


def _awaited(facts: Record) -> Why:
    until = facts["callback_until"]
    reason = (
        f"attempt {facts['attempt']} was delivered; the receiver will complete it until "
        f"{until:%Y-%m-%d %H:%M:%S} UTC"
    )
    gate = Gate(gate="callback", reason=reason, since=facts["started_at"], until=until)
    return Why(state="running", summary=reason, gates=[gate], estimated_start=None)


def _gates(facts: Record) -> Iterator[Gate]:
    """The gates that are shut, the weightiest first."""
    yield from _parents(facts)
    yield from _execution(facts)
    yield from _time(facts)
    yield from _target(facts)
    yield from _queue(facts)
    yield from _node_gates(facts)


def _slot_gates(facts: Record) -> Iterator[Gate]:
    """What stands before it."""
    if facts["slots"] and facts["running_all"] >= facts["slots"]:
        yield Gate(
            gate="slots",
            reason=f"all {facts['slots']} slots of {facts['workers_live']} nodes are busy, "
            f"with {_by_queue(facts['busy_with'])}",
        )
        if facts["state"] == "queued" and (above := _by_queue(facts["above"])):
            reason = f"jobs of a higher priority are due and go before it: {above}"
            yield Gate(gate="behind", reason=reason)
    if facts["state"] == "queued" and facts["ahead"] > 0:
        count = f"{facts['ahead']}" + (" or more" if facts["ahead"] >= _AHEAD_MAX else "")
        yield Gate(
            gate="behind",
            reason=f"{count} jobs of queue {facts['queue']!r} with its priority are due before it",
        )


def _parents(facts: Record) -> Iterator[Gate]:
    if facts["state"] != "blocked":
        return
    named = ", ".join(ids.show("job", parent) for parent in facts["open_parents"][:5])
    more = facts["waits_for"] - min(5, len(facts["open_parents"]))
    yield Gate(
        gate="blocked",
        reason=f"it waits for {facts['waits_for']} jobs to end: {named}"
        + (f" and {more} more" if more > 0 else ""),
        since=facts["created_at"],
    )


def _execution(facts: Record) -> Iterator[Gate]:
    if facts["parked_for"] == "paused":
        named = ids.show("execution", facts["execution_id"])
        reason = f"its execution {named} is paused; resume it to go on"
        yield Gate(gate="execution_paused", reason=reason, since=facts["parked_at"])


def _time(facts: Record) -> Iterator[Gate]:
    if facts["deadline"] is not None and facts["deadline"] <= facts["now"]:
        yield Gate(
            gate="deadline",
            reason="its deadline has passed; it will end as expired within seconds",
            since=facts["deadline"],
        )
    if facts["state"] != "queued" or facts["run_at"] <= facts["now"]:
        return
    if facts["listens_for"]:
        reason = _listens(facts["listens_for"])
        yield Gate(gate="signal", reason=reason, since=facts["started_at"], until=facts["run_at"])
    elif facts["last_outcome"] == "snoozed":
        reason = f"attempt {facts['attempt']} asked to go on later"
        yield Gate(gate="snoozed", reason=reason, since=facts["started_at"], until=facts["run_at"])
    elif facts["attempt"] > 0:
        error = read_stored(facts["error"]) if facts["error"] else {}
        said = f": {error.get('cause')}: {error.get('message')}" if error else ""
        yield Gate(
            gate="retry",
            reason=f"it rests after attempt {facts['attempt']}{said[:500]}",
            since=facts["started_at"],
            until=facts["run_at"],
        )
    else:
        yield Gate(
            gate="not_due",
            reason="it is not due yet",
            since=facts["created_at"],
            until=facts["run_at"],
        )


def _listens(names: Sequence[str]) -> str:
    """For a signal to its execution, by a durable function."""
    shown = " or ".join(repr(name) for name in names)
    return f"it waits for the signal {shown}"


def _target(facts: Record) -> Iterator[Gate]:
    if facts["parked_at"] is None or facts["parked_for"] in ("lock", "paused"):
        return
    host, until = facts["target"], None
    # By what holds now, which need not be what it was parked for.
    if not facts["is_enabled"]:
        because = f" ({facts['disabled_reason']})" if facts["disabled_reason"] else ""
        said = f"is disabled{because}; enable it to go on"
    elif facts["breaker"] != "closed":
        until = facts["open_until"]
        said = f"has its breaker {facts['breaker'].replace('_', ' ')}: {facts['breaker_reason']}"
    elif facts["target_rate"] is not None:
        said = f"takes at most {facts['target_rate']:g} deliveries a second"
    elif facts["target_max_running"] is not None:
        said = f"takes at most {facts['target_max_running']} deliveries at once"
    else:
        said = "has its share of the slots until it answers"
    reason = f"it is parked: target {host} {said}"
    yield Gate(gate="target", reason=reason, since=facts["parked_at"], until=until)


def _queue(facts: Record) -> Iterator[Gate]:
    name = facts["queue"]
    if facts["is_paused"]:
        yield Gate(
            gate="paused",
            reason=f"queue {name!r} is paused; resume it to go on",
            since=facts["paused_at"],
        )
    if facts["max_running"] is not None and facts["running"] >= facts["max_running"]:
        yield Gate(
            gate="max_running",
            reason=f"queue {name!r} runs {facts['running']} of at most {facts['max_running']}"
            + _runners(facts),
        )
    if facts["rate"] is not None and facts["rate_free_at"] is not None:
        yield Gate(
            gate="rate",
            reason=f"queue {name!r} starts at most {facts['rate']:g} jobs a second",
            until=facts["rate_free_at"],
        )


def _runners(facts: Record) -> str:
    """Which jobs fill its queue."""
    named = [ids.show("job", job_id) for job_id in facts["runners"]]
    more = facts["running"] - len(named)
    return f": {', '.join(named)}" + (f" and {more} more" if more > 0 else "") if named else ""


def _by_queue(counted: str | None) -> str:
    """Of which queues so many are: the first ones of a longer list."""
    return ", ".join(
        f"{one['count']} of queue {one['queue']!r}" for one in json.loads(counted or "[]")
    )


def _node_gates(facts: Record) -> Iterator[Gate]:
    if facts["crashes"] >= CRASHES_SOLO:
        yield Gate(
            gate="quarantine",
            reason=f"{facts['crashes']} nodes died while running it; it starts only when a node "
            f"can take it alone, and is dead after {CRASHES_MAX}",
        )
    if facts["workers_alive"] == 0:
        yield Gate(gate="no_worker", reason="no living node takes jobs; start one")
    elif facts["workers_serving"] == 0:
        name, served = facts["queue"], facts["queues_served"]
        of_others = f"; nodes serve: {', '.join(served)}" if served else ""
        reason = f"no live node serves queue {name!r}{near(name, served)}{of_others}"
        yield Gate(gate="not_served", reason=reason)
    elif facts["workers_live"] == 0:
        every = f"all {facts['workers_serving']} nodes that take jobs of its queue are paused"
        yield Gate(gate="nodes_paused", reason=f"{every}; resume one")


def _estimate(facts: Record, gates: list[Gate]) -> datetime | None:
    shut = {gate.gate for gate in gates}
    endless = NOBODY | {
        "blocked",
        "lock",
        "limit",
        "paused",
        "execution_paused",
        "deadline",
    }
    if shut & endless or facts["ahead"] >= _AHEAD_MAX:
        return None
    due: datetime = max(
        [facts["now"], facts["run_at"], *(gate.until for gate in gates if gate.until is not None)]
    )
    if facts["ahead"] == 0:
        waits = any(gate.gate == "target" and gate.until is None for gate in gates)
        return None if waits or shut & {"slots", "max_running"} else due
    # What stood before it leaves at the pace of the last seconds, if anything left at all.
    pace = facts["ended_lately"] / _LATELY_SECONDS
    return due + timedelta(seconds=facts["ahead"] / pace) if pace else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    gate: str
    reason: str
    since: datetime
    until: datetime | None  # None: any time


async def explain_awaited(database: Database, job_id: UUID) -> Awaited | None:
    """None: it is no such step, or has ended meanwhile."""
    rows = await database.read("awaited_why", job_id)
    if not rows:
        return None
    row = rows[0]
    if (known := _AWAITED.get(row["kind"])) is None:
        return None
    gate, reason_of = known
    return Awaited(gate=gate, reason=reason_of(row), since=row["since"], until=row["until"])


def _signal(row: Record) -> str:
    return f"it waits for the signal {row['name']!r}"


def _decision(row: Record) -> str:
    if row["approval_id"] is None:
        return "a decision is about to be asked for"
    return f"{ids.show('approval', row['approval_id'])} is to be decided: {row['title']}"


def _child(row: Record) -> str:
    if row["child_id"] is None:
        return f"its child, an execution of {row['workflow']!r}, is about to begin"
    child = ids.show("execution", row["child_id"])
    return f"its child {child} of {row['workflow']!r} is {row['child_state']}"


def _fan_out(row: Record) -> str:
    if row["total"] is None:
        return "its items are about to be made"
    return f"{row['ended']} of its {row['total']} items have ended, {row['expanded']} have begun"


# The gate that a step of each kind waits at, and its reason.
_AWAITED: Final[Mapping[str, tuple[str, Callable[[Record], str]]]] = complete(
    AWAITED_KINDS,
    {
        "signal": ("signal", _signal),
        "approval": ("approval", _decision),
        "workflow": ("child", _child),
        "map": ("places", _fan_out),
    },
)
