"""Check the ledgers of schedules for gaps: has every instant that was due its row (G6)?

Of each schedule the newest so many rows are compared with what its rule says, and before the last
change of the rule with what that said then. A row may stand for instants before it. Of what is past
the retention nothing is said: rows go then, but for those of work that has not ended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from windlass.engine.doctor.finding import Finding
from windlass.engine.schedules.known_rules import rule_of
from windlass.errors import InvalidInput
from windlass.limits import LEDGER_SAMPLE
from windlass.model.schedule.next import between
from windlass.store.database import Database, Record

SCHEDULES_AT_ONCE: Final = 500
FORMER_RULES_LOOKED_AT: Final = 10
_NAMED_MAX: Final = 3


class Edition(NamedTuple):
    """A rule, and since when and until when every instant of it is in the ledger."""

    rule: str
    since: datetime
    until: datetime


async def check_ledger(database: Database, retention_days: int | None = None) -> list[Finding]:
    """`retention_days` None: every row is still there."""
    findings = []
    kept_since = None if retention_days is None else await _kept_since(database, retention_days)
    async for schedule in _schedules(database):
        rows = await database.read("firing_list", schedule["id"], None, None, LEDGER_SAMPLE)
        known = [Edition(schedule["rule"], schedule["changed_at"], schedule["last_at"])]
        former = await database.read("schedule_former_list", schedule["id"], FORMER_RULES_LOOKED_AT)
        known += [Edition(row["rule"], row["since"], row["until"]) for row in former]
        if kept_since is not None:
            known = [one._replace(since=max(one.since, kept_since)) for one in known]
        try:
            gaps = [gap for edition in known for gap in missing_instants(schedule, edition, rows)]
        except InvalidInput as trouble:  # a zone may have gone, or a country
            findings.append(_broken(schedule["name"], trouble))
            continue
        if gaps:
            findings.append(_finding(schedule["name"], gaps))
    return findings


async def _kept_since(database: Database, retention_days: int) -> datetime:
    [clock] = await database.read("database_now")
    kept_since: datetime = clock["now"] - timedelta(days=retention_days)
    return kept_since


async def _schedules(database: Database) -> AsyncIterator[Record]:
    after = ""
    while rows := await database.read("schedule_sample", after, SCHEDULES_AT_ONCE):
        for row in rows:
            yield row
        after = rows[-1]["name"]


def missing_instants(schedule: Record, edition: Edition, rows: Sequence[Record]) -> list[datetime]:
    """`rows` are its newest, newest first. All of them read: the ledger goes no further back."""
    known = rule_of(edition.rule, schedule["name"], schedule["created_at"])
    first = edition.since
    if rows:
        # Before the oldest that was read nothing is known.
        first = max(first, rows[-1]["instant"] - timedelta(microseconds=1))
    if first >= edition.until:
        return []
    expected = list(between(known.rule, first, edition.until, LEDGER_SAMPLE))
    there = {row["instant"]: row["stands_for"] for row in rows}
    gaps, stood_for = [], 0
    for instant in reversed(expected):
        if instant in there:
            stood_for = there[instant] - 1
        elif stood_for > 0:
            stood_for -= 1
        else:
            gaps.append(instant)
    return gaps


def _broken(name: str, trouble: InvalidInput) -> Finding:
    said = "; ".join(f"{one.pointer} {one.detail}" for one in trouble.problems[:_NAMED_MAX])
    return Finding(
        check="rule_unknown",
        subject=f"schedule {name}",
        detail=f"has, or had, a rule that cannot be followed here any more: {said}",
    )


def _finding(name: str, gaps: Sequence[datetime]) -> Finding:
    named = ", ".join(gap.isoformat() for gap in sorted(gaps)[:_NAMED_MAX])
    more = f" and {len(gaps) - _NAMED_MAX} more" if len(gaps) > _NAMED_MAX else ""
    return Finding(
        check="ledger_gap",
        subject=f"schedule {name}",
        detail=f"was due at {named}{more}, and its ledger does not say what became of it",
    )
