"""Circuit breaker and rate limit of webhook targets, as one node applies them: may a delivery go?

A copy of every target that is out of the ordinary is kept here (limits, a breaker that is not
closed, disabled); it is at most seconds old. By it a claimed delivery is begun or parked, without
a round trip. What the limits allow, and who probes a half-open target, is decided in the database
by engine.targets.unpark, which any node may call at any time.

    claimed -> why_not? -> slot -> ended: verdict -> failures in a row -> open
                 |                                                          |
                 '-> parked <-------------------------------- its jobs park '
                       '-> unparked, as room comes -> claimed again, with a pass
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta

import structlog

from windlass.chance import chance
from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.effects import Effects
from windlass.engine.targets import unpark
from windlass.fastlane.target_failures import TargetFailures
from windlass.fastlane.target_rate import TargetRateLimit
from windlass.limits import (
    TARGET_ALIVE_SECONDS,
    TARGET_GONE_SECONDS,
    TARGET_LINE_MAX,
    TARGET_SLOTS_SHARE,
    TARGETS_PAGE_MAX,
    TARGETS_REMEMBERED_MAX,
    UNPARK_BATCH_MAX,
)
from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import Failed, Outcome, TimedOut
from windlass.model.job.settle import Settlement
from windlass.model.job.target import (
    ParkedFor,
    Target,
    Verdict,
    reason_to_park,
    target_from,
    verdict,
)
from windlass.runtime.loop import Loop
from windlass.store.database import Database, Record, RowLocked
from windlass.telemetry.metrics import Metrics

log = structlog.get_logger()

# How often a node looks: while something is parked, while webhooks run, and else.
LOOK_WAITING_SECONDS, LOOK_BUSY_SECONDS, LOOK_IDLE_SECONDS = 0.5, 1.0, 5.0
UNPARK_SECONDS_MIN = 0.02
LOOK_GONE_SECONDS = 60.0
TELL_SECONDS = 0.9
LATE_COMMIT = timedelta(seconds=2)
# What became of a target, as the log says it.
_STANDING = {
    "closed": "answers again: deliveries to it go on",
    "half_open": "failed before; one delivery is tried to see whether it is well again",
    "open": "keeps failing: deliveries to it wait, and one is tried now and then",
    "disabled": "takes no more deliveries: it said that it is gone, or somebody turned it off",
}
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class TargetGate:
    def __init__(
        self,
        *,
        database: Database,
        announcer: Announcer,
        rate_limit: TargetRateLimit,
        failures: TargetFailures,
        metrics: Metrics,
        slots: int,
        follow: Callable[[Effects], None],  # hears of what it ended
    ) -> None:
        self._database = database
        self._announcer = announcer
        self._rate_limit = rate_limit
        self._shared_failures = failures
        self._metrics = metrics
        self.resize(slots)
        self._known: dict[str, Target] = {}  # those out of the ordinary
        self._moved: set[str] = set()  # those whose breaker is in the metrics
        self._known_at = _LONG_AGO
        self._running: Counter[str] = Counter()
        self._answered_at: dict[str, float] = {}
        self._failures: Counter[str] = Counter()  # in a row, seen here
        self._reports: deque[tuple[Verdict, str, str]] = deque()  # of a host, why
        self._told = monotonic()
        self._tally: dict[str, list[int]] = {}  # host -> succeeded, failed
        self.waiting: set[str] = set()  # targets that jobs are parked for
        self._page_after = ""  # behind this one the next look begins
        self._bury_at = 0.0  # when targets that are gone are looked at again
        self._urgent: set[str] = set()  # where something has happened that may make room
        self._follow = follow
        self.loop = Loop("targets", self._tick)
        announcer.on_target(lambda _: self.loop.wake())

    def resize(self, slots: int) -> None:
        """The node has so many slots now."""
        self._share = max(1, int(slots * TARGET_SLOTS_SHARE))

    # -- may it go? ------------------------------------------------------------------------------

    def why_not(self, attempt: Attempt) -> ParkedFor | None:
        """What keeps a claimed attempt from its target; None: it may begin."""
        assert attempt.target is not None
        return self._why_not(attempt.target, has_pass=attempt.has_pass)

    def park(self, drafts: Sequence[Draft]) -> list[str]:
        """Mark what is about to be accepted for targets without room; returns these targets.

        Of many jobs for one target only the first join their line: what stands behind them there,
        for other targets, need not wait for them all. The rest is unparked as the target answers.
        """
        joined: Counter[str] = Counter()
        parked: set[str] = set()
        for draft in drafts:
            host = draft.target
            if host is None or not draft.is_due:
                continue
            draft.parked_for = self._why_not(host, has_pass=False)
            if draft.parked_for is None:
                joined[host] += 1
                if joined[host] > TARGET_LINE_MAX:
                    draft.parked_for = "crowded"
            if draft.parked_for is not None:
                parked.add(host)
        return sorted(parked)

    def _why_not(self, host: str, *, has_pass: bool) -> ParkedFor | None:
        known = self._known.get(host)
        if known is not None and (reason := reason_to_park(known, has_pass=has_pass)) is not None:
            return reason
        return "crowded" if not has_pass and self._room(host) <= 0 else None

    def _room(self, host: str) -> int:
        """How many more may run here. A target that has not answered lately gets only a share of
        the slots: if it is dead, the others still have the rest.
        """
        running = self._running.get(host, 0)
        if running < self._share:
            return self._share - running
        known = self._known.get(host)
        if known is not None and known.max_running is not None:
            return UNPARK_BATCH_MAX  # its owner has said how many
        is_alive = monotonic() - self._answered_at.get(host, -1e9) < TARGET_ALIVE_SECONDS
        return UNPARK_BATCH_MAX if is_alive else 0

    # -- what becomes of it ----------------------------------------------------------------------

    def began(self, attempt: Attempt) -> None:
        if attempt.target is not None:
            self._running[attempt.target] += 1

    def parked(self) -> None:
        """Jobs were parked here."""
        self.loop.wake()

    def ended(self, attempt: Attempt, outcome: Outcome) -> None:
        host = attempt.target
        assert host is not None
        self._running[host] -= 1
        if self._running[host] <= 0:
            del self._running[host]
        if host in self.waiting:
            self._hurry(host)
            self.loop.wake()  # there is room, or news
        status = (attempt.detail or {}).get("status_code")
        self._metrics.delivered(outcome.name, status)
        said = verdict(outcome, status)
        if said == "neutral":
            return
        self._count(host, is_success=outcome.name in ("succeeded", "awaited"))
        known = self._known.get(host)
        if said == "failed":
            self._failures[host] += 1
            self._report("failed", host, _reason(outcome))
        else:
            self._answered_at[host] = monotonic()
            if self._failures.pop(host, 0):
                self._shared_failures.forget(host)
            if said == "gone":
                self._report("gone", host, "the receiver answered 410 Gone")
            if known is not None and known.breaker != "closed" and attempt.has_pass:
                self._report("answered", host, "")

    def settled(self, batch: Sequence[Settlement]) -> None:
        """What ended is committed: its pass is free. Of use while jobs wait for targets."""
        for host in {settlement.target for settlement in batch} & self.waiting:
            assert host is not None
            self._hurry(host)
            self.loop.wake()

    def _count(self, host: str, *, is_success: bool) -> None:
        if len(self._answered_at) > TARGETS_REMEMBERED_MAX:
            self._answered_at.clear()
            self._failures.clear()
        if not self._tally:
            self.loop.wake()  # it may be resting for as long as nothing happens
        tally = self._tally.setdefault(host, [0, 0])
        tally[0 if is_success else 1] += 1

    def _report(self, said: Verdict, host: str, reason: str) -> None:
        self._reports.append((said, host, reason))
        self.loop.wake()

    # -- the loop --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Learn of every limit and breaker before the first delivery."""
        targets, now = await unpark.read_exceptional(self._database)
        for target in targets:
            self._keep(target)
        self._known_at = now - LATE_COMMIT
        self.loop.start()

    async def stop(self) -> None:
        await self.loop.stop()

    async def look(self) -> None:
        """Do now what is done every so often."""
        await self._tick()

    def forget(self) -> None:
        """What is known of targets is no longer so: they have gone, or time has moved back."""
        for known in (self._known, self._failures, self._answered_at, self._reports, self._tally):
            known.clear()
        self.waiting, self._urgent, self._page_after = set(), set(), ""
        self._known_at = _LONG_AGO

    def forget_running(self) -> None:
        """What ran here was abandoned."""
        self._running.clear()

    async def _tick(self) -> float:
        await self._act_on_reports()
        await self._add_tally()
        rest = await self._unpark()
        if self.waiting:
            return min(rest, LOOK_WAITING_SECONDS)
        return LOOK_BUSY_SECONDS if self._running or self._tally else LOOK_IDLE_SECONDS

    def _keep(self, target: Target) -> None:
        if target.is_ordinary:
            self._known.pop(target.host, None)
        else:
            self._known[target.host] = target
        if target.breaker != "closed" or target.host in self._moved:
            self._moved.add(target.host)
            self._metrics.breaker(target.host, target.breaker)

    async def _act_on_reports(self) -> None:
        failed: dict[str, tuple[int, str]] = {}
        held: dict[tuple[Verdict, str], str] = {}  # somebody has the target's row
        while self._reports:
            said, host, reason = self._reports.popleft()
            match said:
                case "failed":
                    failed[host] = (failed.get(host, (0, ""))[0] + 1, reason)
                case "neutral":
                    pass
                case "answered" | "gone":
                    try:
                        await self._change(await self._moved_by(said, host, reason))
                    except RowLocked:
                        held[said, host] = reason
        if not failed.keys() <= self._known.keys():
            await self._learn_changes()  # what somebody has just said of a target counts already
        for host, (count, reason) in failed.items():
            try:
                await self._failed(host, count, reason)
            except RowLocked:
                held["failed", host] = reason
        # At the next look again, once for however many there were.
        self._reports.extend((said, host, reason) for (said, host), reason in held.items())

    async def _moved_by(self, said: Verdict, host: str, reason: str) -> Target | None:
        if said == "answered":
            return await unpark.close_breaker(self._database, host)
        return await unpark.disable_gone(self._database, host, reason)

    async def _failed(self, host: str, count: int, reason: str) -> None:
        if await self._should_open(host, count):
            opened = await unpark.open_breaker(self._database, host, reason, chance())
            self._failures.pop(host, None)
            self._shared_failures.forget(host)
            await self._change(opened)

    async def _should_open(self, host: str, count: int) -> bool:
        known = self._known.get(host) or Target(host=host)
        if known.failures == 0 or known.breaker == "open":
            return False
        if known.breaker == "half_open" or self._failures[host] >= known.failures:
            return True
        return await self._shared_failures.note(host, count) >= known.failures

    async def _change(self, target: Target | None) -> None:
        if target is None:
            return
        facts = {"host": target.host, "breaker": target.breaker, "enabled": target.is_enabled}
        if target.is_enabled and target.breaker == "closed":
            log.info("target_changed", now=_STANDING["closed"], **facts)
        else:
            now = _STANDING[target.breaker if target.is_enabled else "disabled"]
            log.warning("target_changed", now=now, **facts)
        self._keep(target)
        self._announcer.targets([target.host])

    async def _add_tally(self) -> None:
        if not self._tally or monotonic() - self._told < TELL_SECONDS:
            return
        self._told = monotonic()
        tally, self._tally = self._tally, {}
        told: set[str] = set()
        try:
            told = await unpark.add_tally(
                self._database, [(host, ok, bad) for host, (ok, bad) in tally.items()]
            )
        finally:
            # Whoever holds the row of a target, or keeps us from PostgreSQL, makes us tell later.
            for host in list(tally.keys() - told)[: TARGETS_REMEMBERED_MAX - len(self._tally)]:
                again = self._tally.setdefault(host, [0, 0])
                again[:] = [now + before for now, before in zip(again, tally[host], strict=True)]

    async def _unpark(self) -> float:
        """Unpark jobs where there is room; returns how long to rest.

        A look goes through a page of the targets, and through those where something happened.
        """
        named, self._urgent = self._urgent, set()
        changes = await self._learn_changes(after=self._page_after, named=named)
        self._page_after = changes.until or ""
        rows = [row for row in changes.rows if row["waiting"]]
        self._remember_waiting(changes, rows, named)
        rest = LOOK_WAITING_SECONDS
        room: dict[str, int] = {}
        for row in rows:
            count, wait = await self._to_unpark(row)
            if count > 0:
                room[row["host"]] = count
            if wait < LOOK_WAITING_SECONDS:
                self._hurry(row["host"])
            rest = min(rest, wait)
        self._announcer.rows(await unpark.unpark(self._database, room))
        await self._bury(rows)
        return max(rest, UNPARK_SECONDS_MIN)

    def _remember_waiting(
        self, changes: unpark.TargetChanges, rows: list[Record], named: set[str]
    ) -> None:
        """What this look went through is as it says; of other targets we know from others."""
        if not changes.after and changes.until is None:
            self.waiting = {row["host"] for row in rows}
            return
        until = changes.until
        stay = {
            host
            for host in self.waiting - named
            if host <= changes.after or (until is not None and host > until)
        }
        if len(stay) > TARGETS_REMEMBERED_MAX:
            stay = set()
        self.waiting = stay | {row["host"] for row in rows}

    def _hurry(self, host: str) -> None:
        """The next look goes through this target, whatever its page is."""
        if len(self._urgent) < TARGETS_PAGE_MAX:
            self._urgent.add(host)

    async def _bury(self, rows: list[Record]) -> None:
        """What has waited too long for receivers that want nothing more.

        The line of such a target may be long and young: it is looked at now and then.
        """
        if monotonic() < self._bury_at:
            return
        longest = timedelta(seconds=TARGET_GONE_SECONDS)
        gone = [
            row["host"]
            for row in rows
            if not row["is_enabled"]
            and row["gone_at"] is not None
            and row["now"] - row["gone_at"] > longest
        ]
        if gone:
            buried = await unpark.bury_gone(self._database, gone)
            self._follow(buried)
            is_all = len(buried.ended) < UNPARK_BATCH_MAX
            self._bury_at = monotonic() + LOOK_GONE_SECONDS if is_all else 0.0

    async def _learn_changes(
        self, *, after: str = "", named: Collection[str] = ()
    ) -> unpark.TargetChanges:
        """Learn of targets that have changed."""
        changes = await unpark.read_changes(
            self._database, self._known_at, after=after, named=named
        )
        for row in [*changes.rows, *changes.more]:
            self._keep(target_from(row))
            # What commits late has an earlier instant: look back a little each time.
            self._known_at = max(self._known_at, row["changed_at"] - LATE_COMMIT)
        return changes

    async def _to_unpark(self, row: Record) -> tuple[int, float]:
        """How many jobs of a target this node would unpark, and when to look again."""
        target = target_from(row)
        if not target.is_enabled:
            return 0, LOOK_WAITING_SECONDS
        if target.breaker == "open" and target.open_until is not None:
            wait = (target.open_until - row["now"]).total_seconds()
            return int(wait <= 0), max(0.0, wait)
        if target.breaker == "half_open":
            return 1, LOOK_WAITING_SECONDS
        waiting = min(row["waiting"], UNPARK_BATCH_MAX)
        if target.rate is not None:
            return await self._rate_limit.take(target.host, target.rate, waiting, row["nodes"])
        if target.max_running is not None:
            return waiting, LOOK_WAITING_SECONDS
        # More than a batch: at once again. Else what came meanwhile can wait for the next look.
        room = self._room(target.host)
        rest = 0.0 if room >= waiting >= UNPARK_BATCH_MAX else LOOK_WAITING_SECONDS
        return min(waiting, room), rest


def _reason(outcome: Outcome) -> str:
    match outcome:
        case Failed(cause, message):
            return f"{cause}: {message}"
        case TimedOut(after_seconds, waited_for):
            return f"timeout: {waited_for or 'the answer'} did not come within {after_seconds:g} s"
        case _:
            return outcome.name
