"""Misfires and overlaps: what becomes of the due instants of a schedule.

    pending: which are due -> decide: paused meanwhile? -> missed? (misfire, catchup) -> one still
    goes? (overlap) -> fired, late, skipped or coalesced

Due are a rule's instants from its next one on whose time has come. An instant is *missed* when
nobody fired it for so long that it was not a leader's change but an outage (`MISFIRE_SECONDS`). As
long as none is missed all of them are made, each a moment late. If one is, the policy speaks:
`fire_once` makes the newest of all, `fire_all` makes them all, `skip` only those that are not
missed. However it ends, each instant gets a decision, and the next one is due as if nothing had
happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias, assert_never

from windlass.limits import FIRE_ALL_MAX, LATE_SECONDS, MISFIRE_SECONDS, PENDING_MAX
from windlass.model.schedule.next import between, count_between, next_after
from windlass.model.schedule.rule import Rule

Overlap: TypeAlias = Literal["allow", "skip", "queue_one", "cancel_running"]
Misfire: TypeAlias = Literal["fire_once", "fire_all", "skip"]
FiringState: TypeAlias = Literal["fired", "late", "skipped", "coalesced"]

Pause: TypeAlias = tuple[datetime, datetime]  # since when, and until

MADE: Final = ("fired", "late")
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    overlap: Overlap = "allow"
    misfire: Misfire = "fire_once"
    catchup_seconds: float | None = None  # None: however long ago they were missed
    jitter_seconds: float = 0.0  # is no lateness
    pauses: tuple[Pause, ...] = ()  # an instant that came in one of them is skipped

    @property
    def is_plain(self) -> bool:
        """Nothing but its age can keep an instant from being made."""
        return self.overlap == "allow" and not self.pauses

    def is_paused_at(self, instant: datetime) -> bool:
        """What was due when it was paused was due before."""
        return any(since < instant <= until for since, until in self.pauses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    instant: datetime
    state: FiringState
    reason: str | None = None  # None: it is made
    stands_for: int = 1  # itself, and instants before it that get no decision of their own
    waits: bool = False  # goes when the one that is unfinished has ended
    cancels: bool = False  # whatever is unfinished is asked to stop

    @property
    def is_made(self) -> bool:
        return self.state in MADE


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    instants: Sequence[datetime]  # due, oldest first; at most PENDING_MAX, the newest of them
    older: int  # due as well, and too many to be named
    next_at: datetime | None  # the first that is not due; None: the rule has no more


def pending(
    rule: Rule, next_at: datetime, now: datetime, fire_at: Callable[[datetime], datetime]
) -> Pending:
    """`fire_at` says when an instant goes: with its jitter. The first is due whatever it says."""
    following = next_after(rule, next_at)
    if following is None or fire_at(following) > now:
        return Pending(instants=[next_at], older=0, next_at=following)
    count = 1 + count_between(rule, next_at, now)
    since = next_at - _MICROSECOND
    if count > PENDING_MAX:
        since = _since(rule, next_at, now)
    instants = list(between(rule, since, now, PENDING_MAX))
    older = count - len(instants)
    # In order: one whose jitter is short does not overtake one whose jitter is long.
    while len(instants) > 1 and fire_at(instants[-1]) > now:
        instants.pop()
    return Pending(instants=instants, older=older, next_at=next_after(rule, instants[-1]))


def _since(rule: Rule, first: datetime, now: datetime) -> datetime:
    """An instant after which there are at most PENDING_MAX, and nearly as many."""
    low, high = first, now
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        if count_between(rule, middle, now) > PENDING_MAX:
            low = middle
        else:
            high = middle
    return high


def decide(
    instants: Sequence[datetime],
    now: datetime,
    policy: Policy,
    *,
    older: int = 0,
    unfinished: Sequence[str] = (),
) -> list[Decision]:
    """One decision for each instant, in order. They are due, undecided, and the oldest first.

    `older`: so many more lie before the first and share its fate. `unfinished`: what the schedule
    has made and what has not ended, newest first, by name.
    """
    is_one = len(instants) == 1 and not older
    if is_one and policy.is_plain and _is_in_time(instants[0], now, policy):
        return [_made(instants[0], now, policy)]  # what nearly all of them are
    decisions = _missed(instants, now, policy)
    if older and decisions:
        decisions[0] = replace(decisions[0], stands_for=1 + older)
    return _overlapped(decisions, policy.overlap, unfinished)


def _is_in_time(instant: datetime, now: datetime, policy: Policy) -> bool:
    return (now - instant).total_seconds() <= MISFIRE_SECONDS + policy.jitter_seconds


def _missed(instants: Sequence[datetime], now: datetime, policy: Policy) -> list[Decision]:
    oldest_in_time = now - timedelta(seconds=MISFIRE_SECONDS + policy.jitter_seconds)
    awake = [instant for instant in instants if not policy.is_paused_at(instant)]
    is_missed = bool(awake) and awake[0] < oldest_in_time
    decisions = []
    ahead = len(awake)  # how many are newer
    for instant in instants:
        if policy.is_paused_at(instant):
            decisions.append(_skipped(instant, "paused: it was paused then"))
            continue
        ahead -= 1
        if not is_missed:
            decisions.append(_made(instant, now, policy))
        else:
            decisions.append(
                _misfired(instant, now, policy, ahead, awake[-1], instant < oldest_in_time)
            )
    return decisions


def _misfired(
    instant: datetime, now: datetime, policy: Policy, ahead: int, newest: datetime, is_old: bool
) -> Decision:
    catchup = policy.catchup_seconds
    if is_old and catchup is not None and (now - instant).total_seconds() > catchup:
        return _skipped(instant, f"catchup: it was missed by more than {catchup:g} seconds")
    match policy.misfire:
        case "fire_once":
            if ahead:
                said = f"misfire: it was missed, and {_shown(newest)} makes up for it"
                return Decision(instant=instant, state="coalesced", reason=said)
        case "fire_all":
            if ahead >= FIRE_ALL_MAX:
                said = f"misfire: {FIRE_ALL_MAX} newer ones were missed too; backfill the others"
                return _skipped(instant, said)
        case "skip":
            if is_old:
                return _skipped(instant, "misfire: it was missed")
        case _:
            assert_never(policy.misfire)
    return _made(instant, now, policy)


def _overlapped(
    decisions: list[Decision], overlap: Overlap, unfinished: Sequence[str]
) -> list[Decision]:
    if overlap == "allow":
        return decisions
    going = list(unfinished)
    newest = next((known.instant for known in reversed(decisions) if known.is_made), None)
    return [
        _beside(decision, overlap, going, newest) if decision.is_made else decision
        for decision in decisions
    ]


def _beside(
    decision: Decision, overlap: Overlap, going: list[str], newest: datetime | None
) -> Decision:
    """The decision beside what goes; if it is made it goes too from now on."""
    match overlap:
        case "cancel_running":
            if decision.instant != newest:
                assert newest is not None, "this one is made"
                said = f"overlap: it made way for {_shown(newest)}"
                return replace(decision, state="coalesced", reason=said)
            return replace(decision, cancels=bool(going))
        case "skip" | "queue_one":
            if going and (overlap == "skip" or len(going) > 1):
                waits = f", and {going[0]} waits for it" if len(going) > 1 else ""
                said = f"overlap: {going[-1]} had not ended{waits}"
                return replace(decision, state="skipped", reason=said)
            waits_for = bool(going)
            going.insert(0, f"the one of {_shown(decision.instant)}")
            return replace(decision, waits=waits_for)
        case "allow":
            return decision
        case _:
            assert_never(overlap)


def _made(instant: datetime, now: datetime, policy: Policy) -> Decision:
    is_late = (now - instant).total_seconds() > LATE_SECONDS + policy.jitter_seconds
    return Decision(instant=instant, state="late" if is_late else "fired")


def _skipped(instant: datetime, reason: str) -> Decision:
    return Decision(instant=instant, state="skipped", reason=reason)


def _shown(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
