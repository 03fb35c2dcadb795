"""Claim (dequeue) due jobs, many at a time; hand back claims; park what its target has no room for.

Owns: the statements that move a queued job to `running`, and back. A claim raises the attempt
number and sets a fresh random claim id: together the fence, or fencing token.

A *line* is one queue at one priority. A node remembers where each line's next job may be:

    run_at ->   . . . . . . x x x x | o o o o o o o          now
                claimed before      ^ since                   ^
                                    the next claim starts here

so a claim never walks again over rows that were taken, not even over their dead versions while
somebody's long transaction keeps vacuum from removing them. What a transaction that took longer
than the slack commits below `since` is found by the peek, which reads each line from its start.
Lines are visited from critical to low; every few claims from low to critical, so nothing starves.
What a node does not serve, or has no task for, it passes by: no claim of its own brings it.
Queues with `max_running` or `rate` stand in the same order. Theirs is another statement, so an
order is cut into stretches of one sort; without limited queues there is one stretch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from windlass.clock import wall
from windlass.limits import AGING_EVERY, CLAIM_SLACK_SECONDS
from windlass.model.cluster.served import ANY_WORK, ServedWork
from windlass.model.job.attempt import Attempt, attempt_of
from windlass.model.job.states import PRIORITY_NUMBERS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

Line = tuple[str, int]
_SLACK = timedelta(seconds=CLAIM_SLACK_SECONDS)
# Rows of the peek that are not lines.
_SOLO, _CLOCK, _OPERATION = -1, -2, -3


@dataclass(slots=True)
class Frontier:
    """Which lines have work, and where each one's next job may be.

    All instants are the database's; `clock_ahead` is how far its clock is before this machine's.
    """

    served: ServedWork = ANY_WORK
    since: dict[Line, datetime] = field(default_factory=dict)
    limited: set[Line] = field(default_factory=set)
    full: dict[Line, datetime] = field(default_factory=dict)  # limited ones that gave no more
    has_solo: bool = False
    has_operation: bool = False  # some node, perhaps this one, is asked for a change
    next_due_at: datetime | None = None  # None: nothing is known to wait for its time
    clock_ahead: timedelta = timedelta()
    turn: int = 0  # orders that were made

    def now(self) -> datetime:
        return wall() + self.clock_ahead

    def note(self, line: Line, due_at: datetime) -> None:
        """Somebody said that `line` has a job due at `due_at`."""
        if not self.served.queues.include(line[0]):
            return
        if due_at > self.now():
            self.next_due_at = min(due_at, self.next_due_at or due_at)
            return
        since = self.since.get(line)
        if since is None or due_at - _SLACK < since:
            self.since[line] = due_at - _SLACK

    def see(self, peeked: list[Record]) -> None:
        """Take over what the peek found; it has read every line from its start."""
        now = next(row["first_at"] for row in peeked if row["priority"] == _CLOCK)
        self.clock_ahead = now - wall()
        self.has_operation = any(row["priority"] == _OPERATION for row in peeked)
        firsts = [row for row in peeked if row["priority"] not in (_CLOCK, _OPERATION)]
        lines = [row for row in firsts if row["priority"] != _SOLO]
        self.has_solo = any(row["priority"] == _SOLO and row["first_at"] <= now for row in firsts)
        self.limited = {(row["queue"], row["priority"]) for row in lines if row["is_limited"]}
        self.since = {
            (row["queue"], row["priority"]): row["first_at"]
            for row in lines
            if row["first_at"] <= now
        }
        self.full.clear()
        self.next_due_at = min(
            (row["first_at"] for row in firsts if row["first_at"] > now), default=None
        )

    def stop_at_limit(self, lines: list[Line]) -> None:
        """These limited lines gave no more: they are empty, or full by their own limit."""
        for line in lines:
            since = self.since.pop(line, None)
            if since is not None:
                self.full[line] = since

    def ended_in(self, queues: set[str]) -> None:
        """Jobs of these queues ended here: where a limit stood in the way there is room again."""
        for line in [line for line in self.full if line[0] in queues]:
            self.since[line] = self.full.pop(line)

    def stretches(self) -> list[tuple[bool, list[Line]]]:
        """The lines in the order of this turn, cut where limited ones and others meet.

        Each stretch says whether its lines are limited. Of one level, those of one sort stand
        together: there are no more than two stretches a level.
        """
        self.turn += 1
        from_low = self.turn % AGING_EVERY == 0
        # Queues of one level take turns at being first, those from low apart: else the same one
        # would always be the first of them.
        aged = self.turn // AGING_EVERY
        turn = aged - 1 if from_low else self.turn - aged
        queues = self.served.queues.in_order([*{queue for queue, _ in self.since}], turn)
        order: dict[int, dict[bool, list[Line]]] = {}
        for line in ((queue, level) for queue in queues for level in PRIORITY_NUMBERS.values()):
            if line in self.since:
                order.setdefault(line[1], {}).setdefault(line in self.limited, []).append(line)
        found: list[tuple[bool, list[Line]]] = []
        for level in sorted(order, reverse=not from_low):
            for is_limited, some in order[level].items():
                if found and found[-1][0] == is_limited:
                    found[-1][1].extend(some)
                else:
                    found.append((is_limited, some))
        return found

    def took(self, rows: list[Record], asked: list[Line], most: int) -> None:
        """Move on behind what a claim took; forget lines that had nothing more."""
        newest: dict[Line, datetime] = {}
        for row in rows:
            line = (row["queue"], row["priority"])
            newest[line] = max(newest.get(line, row["run_at"]), row["run_at"])
        latest = self.now() - _SLACK
        for line, run_at in newest.items():
            self.since[line] = min(run_at, latest)
        if len(rows) < most:
            for line in asked:
                self.since.pop(line, None)


async def claim(
    database: Database,
    node_id: UUID,
    frontier: Frontier,
    most: int,
    claim_id: UUID | None = None,
) -> list[Attempt]:
    """Up to `most` attempts, none of them begun. Raises Unavailable; see `find_claimed_under`.

    `claim_id` is random and fresh; None: made here.
    """
    claim_id = claim_id or uuid4()
    rows: list[Record] = []
    for is_limited, lines in frontier.stretches():
        if len(rows) == most:
            break
        some = _claim_limited if is_limited else _claim_unlimited
        rows += await some(database, node_id, frontier, lines, most - len(rows), claim_id)
    return [attempt_of(row, claim_id) for row in rows]


async def _claim_unlimited(
    database: Database,
    node_id: UUID,
    frontier: Frontier,
    lines: list[Line],
    most: int,
    claim_id: UUID,
) -> list[Record]:
    rows = await database.run(
        "job_claim_many",
        [queue for queue, _ in lines],
        [priority for _, priority in lines],
        [frontier.since[line] for line in lines],
        most,
        node_id,
        claim_id,
        frontier.served.kinds,
        frontier.served.tasks,
    )
    frontier.took(rows, lines, most)
    return rows


async def _claim_limited(
    database: Database,
    node_id: UUID,
    frontier: Frontier,
    lines: list[Line],
    most: int,
    claim_id: UUID,
) -> list[Record]:
    """From queues with `max_running` or `rate`: under the locks of the queues' rows."""

    async def work(connection: Connection[Record]) -> list[Record]:
        queues = sorted({queue for queue, _ in lines})
        locked = {r["name"] for r in await connection.fetch(statement("queue_lock_claim"), queues)}
        mine = [line for line in lines if line[0] in locked]
        if not mine:
            return []
        return await connection.fetch(
            statement("job_claim_limited"),
            [queue for queue, _ in mine],
            [priority for _, priority in mine],
            most,
            node_id,
            claim_id,
            frontier.served.kinds,
            frontier.served.tasks,
        )

    rows = await database.together(work)
    if len(rows) < most:
        frontier.stop_at_limit(lines)
    return rows


async def claim_solo(
    database: Database,
    node_id: UUID,
    claim_id: UUID | None = None,
    served: ServedWork = ANY_WORK,
) -> list[Attempt]:
    """One job on its last chance, if there is one."""
    claim_id = claim_id or uuid4()

    async def work(connection: Connection[Record]) -> list[Record]:
        found = await connection.fetch(statement("job_lock_solo"), node_id, *_served(served))
        if not found:
            return []
        return await connection.fetch(
            statement("job_claim_solo"), node_id, claim_id, found[0]["id"]
        )

    return [attempt_of(row, claim_id) for row in await database.together(work)]


async def peek(database: Database, frontier: Frontier) -> None:
    """Look at every line from its start."""
    frontier.see(await database.run("line_peek", *_served(frontier.served)))


def _served(work: ServedWork) -> tuple[object, ...]:
    queues = work.queues
    return queues.asked, list(queues.excluded), work.kinds, work.tasks


async def release(database: Database, attempts: list[Attempt]) -> list[Record]:
    """Hand back attempts that were claimed ahead and not begun. What somebody holds stays claimed
    and is returned as such (`is_held`); what is not returned is to be cancelled, or not ours.
    """
    if not attempts:
        return []
    return await database.run(
        "job_release_many",
        [attempt.job_id for attempt in attempts],
        [attempt.number for attempt in attempts],
        [attempt.claim_id for attempt in attempts],
    )


async def park(database: Database, attempts: list[Attempt], reasons: list[str]) -> list[Record]:
    """Hand back attempts whose target has no room; they wait for it outside their line. Returns as
    `release`.
    """
    return await database.run(
        "job_park_many",
        [attempt.job_id for attempt in attempts],
        [attempt.number for attempt in attempts],
        [attempt.claim_id for attempt in attempts],
        [attempt.target for attempt in attempts],
        reasons,
    )


async def find_claimed(
    database: Database, node_id: UUID, older_than_seconds: float
) -> list[Record]:
    """What the database thinks this node runs: a claim whose answer got lost shows up here."""
    return await database.run("job_held_by", node_id, older_than_seconds)


async def find_claimed_under(
    database: Database, node_id: UUID, claim_ids: list[UUID]
) -> list[Record]:
    """What claims took whose answers never came."""
    return await database.run("job_held_under", node_id, claim_ids)


async def release_rows(database: Database, rows: list[Record]) -> list[Record]:
    """Hand back claims by their fence alone. Returns as `release`."""
    return await database.run(
        "job_release_many",
        [row["id"] for row in rows],
        [row["attempt"] for row in rows],
        [row["claim_id"] for row in rows],
    )
