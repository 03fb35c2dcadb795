"""Make the jobs and executions that a round of schedules has planned, in its transaction; and say
what could not be made.

    room first (overlap `cancel_running`)
    -> jobs: plain ones by COPY, the others by way of admission -> executions (`make_executions`)
    -> the ledger is corrected where something was refused
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.jobs.admission import admit
from windlass.engine.jobs.cancel import cancel_in
from windlass.engine.jobs.end import request_execution_cancel
from windlass.engine.jobs.request import COPY_COLUMNS, Accepted, Request, copy_rows
from windlass.engine.schedules.decide import (
    Fired,
    FireOptions,
    PlannedFiring,
    Refusal,
    SchedulesHeld,
)
from windlass.engine.schedules.make_executions import start_executions
from windlass.errors import InvalidInput, WindlassError
from windlass.limits import RULES_KEPT_MAX
from windlass.model.identity.actor import acting
from windlass.model.job.draft import Draft
from windlass.model.job.submission import SubmissionContext, read_job
from windlass.model.json import strict as strict_json
from windlass.model.schedule.placeholder import fill
from windlass.model.schedule.rule import EPOCH
from windlass.store.database import Connection, Record, RowLocked
from windlass.store.statements import statement


async def make(
    connection: Connection[Record],
    planned: Sequence[PlannedFiring],
    now: datetime,
    options: FireOptions,
) -> Fired:
    """All of it in the caller's transaction, which has entered them in the ledger."""
    fired = Fired()
    wanted = [one for one in planned if one.decision.is_made]
    fired.effects.add(await _make_room(connection, wanted))
    jobs = [one for one in wanted if one.job_id is not None]
    if jobs:
        await insert_jobs(connection, jobs, fired, now, options)
    executions = [one for one in wanted if one.execution_id is not None]
    if executions:
        await start_executions(connection, executions, fired)
    await _correct(connection, [one for one in wanted if one.refusal is not None])
    for one in planned:
        fired.states[one.state] += one.decision.stands_for
        if one.is_made:
            late = (now - one.decision.instant).total_seconds() - one.jitter_seconds
            fired.late_seconds.append(max(0.0, late))
    return fired


async def _make_room(connection: Connection[Record], wanted: Sequence[PlannedFiring]) -> Effects:
    """Ask what is unfinished to stop. It may take a moment to: nobody waits for it."""
    left = [found for one in wanted if one.decision.cancels for found in one.beside]
    effects = Effects()
    if jobs := [found["job_id"] for found in left if found["job_id"] is not None]:
        effects.add(await cancel_in(connection, jobs))
    executions = [found["execution_id"] for found in left if found["execution_id"] is not None]
    effects.add(
        await request_execution_cancel(
            connection, executions, cause="superseded", message="its schedule fired again"
        )
    )
    await record(connection, *_cancelled(wanted, effects))
    return effects


def _cancelled(wanted: Sequence[PlannedFiring], effects: Effects) -> Iterator[Entry]:
    """What a schedule cancels to make room it cancels itself, whoever has fired it; what was asked
    to stop before is not asked again.
    """
    touched = effects.ended.keys() | effects.stopping.keys() | effects.upkeep.unheard
    for one in wanted:
        if not (one.decision.cancels and one.beside):
            continue
        shown = ids.show("schedule", one.row["id"])
        actor = replace(acting(), kind="schedule", id=shown, name=one.row["name"])
        for found in one.beside:
            noun = "job" if found["job_id"] is not None else "execution"
            if found[f"{noun}_id"] not in touched:
                continue
            yield Entry(
                action=f"{noun}.cancel",
                id=ids.show(noun, found[f"{noun}_id"]),
                note="its schedule fired again",
                actor=actor,
            )


async def _correct(connection: Connection[Record], refused: Sequence[PlannedFiring]) -> None:
    if not refused:
        return
    refusals = [one.refusal for one in refused if one.refusal is not None]
    await connection.fetch(
        statement("firing_refuse_many"),
        [one.row["id"] for one in refused],
        [one.decision.instant for one in refused],
        [refusal.state for refusal in refusals],
        [refusal.reason for refusal in refusals],
    )


async def insert_jobs(
    connection: Connection[Record],
    planned: Sequence[PlannedFiring],
    fired: Fired,
    now: datetime,
    options: FireOptions,
) -> None:
    """Those that are refused say so (`PlannedFiring.refusal`); lines with new work are in
    `fired.effects`.
    """
    drafted = _drafted(planned, now, options)
    plain = [(one, draft) for one, draft in drafted if draft.is_plain]
    if options.queue_defaults.are_set or not options.is_waiting:
        plain = []
    free: set[str] = set()
    if plain:
        queues = sorted({draft.queue for _, draft in plain})
        rows = await connection.fetch(statement("queue_share_many"), queues)
        free = {row["name"] for row in rows}
        await _copy(connection, [pair for pair in plain if pair[1].queue in free], now)
    rest = [(one, draft) for one, draft in drafted if not (draft.is_plain and draft.queue in free)]
    # Those that wait come after those that they may wait for.
    for waits in (False, True):
        few = [(one, draft) for one, draft in rest if draft.has_parents == waits]
        if few:
            await _admit(connection, few, fired, options)
    for one, draft in drafted:
        if one.is_made and not draft.has_parents:
            fired.effects.add_line(
                (draft.queue, draft.priority), draft.run_at or draft.delay_seconds
            )


def _drafted(
    planned: Sequence[PlannedFiring], now: datetime, options: FireOptions
) -> list[tuple[PlannedFiring, Draft]]:
    drafted = []
    for one in planned:
        row = one.row
        text = fill(row["job"], one.decision.instant)
        try:
            draft = draft_of(text, row["owner"], row["priority"], options.max_attempts)
        except InvalidInput as trouble:
            one.refusal = Refusal("skipped", f"{trouble.code}: {trouble}")
            continue
        if one.behind is not None:
            draft = replace(draft, depends_on=(one.behind,), on_parent_failure="run")
        drafted.append((one, draft))
    return drafted


@lru_cache(maxsize=RULES_KEPT_MAX)
def draft_of(text: str, owner: str | None, priority: int | None, max_attempts: int) -> Draft:
    """What to submit. Many schedules share one: nobody may change it."""
    value = strict_json.parse(text.encode())
    # Its kind was checked when the schedule was put; the node that leads need not perform it.
    context = SubmissionContext(
        kinds={value.get("kind"): lambda _: []}, max_attempts=max_attempts, owner=owner
    )
    draft = read_job(value, context, EPOCH)
    if priority is not None and "priority" not in value:
        draft.priority = priority
    return draft


async def _copy(
    connection: Connection[Record], pairs: Sequence[tuple[PlannedFiring, Draft]], now: datetime
) -> None:
    if not pairs:
        return
    request = Request(
        drafts=[draft for _, draft in pairs],
        job_ids=[one.made_id for one, _ in pairs if one.made_id is not None],
    )
    await connection.copy_records_to_table(
        "job", schema_name="windlass", columns=COPY_COLUMNS, records=copy_rows(request, now)
    )


async def _admit(
    connection: Connection[Record],
    pairs: Sequence[tuple[PlannedFiring, Draft]],
    fired: Fired,
    options: FireOptions,
) -> None:
    queues = sorted({draft.queue for _, draft in pairs})
    await connection.fetch(statement("queue_ensure_many"), queues, None)
    requests = [
        Request(drafts=[draft], job_ids=[one.made_id])
        for one, draft in pairs
        if one.made_id is not None
    ]
    # What is due is not lost to a burst of others: how quickly a queue takes jobs is for callers.
    await admit(
        connection,
        requests,
        options.queue_defaults,
        is_waiting=options.is_waiting,
        is_rated=False,
    )
    _raise_held(pairs, requests)
    for (one, _), request in zip(pairs, requests, strict=True):
        one.refusal = _refusal(request.answer)
        if request.effects is not None:
            fired.effects.add(request.effects)


def _raise_held(pairs: Sequence[tuple[PlannedFiring, Draft]], requests: Sequence[Request]) -> None:
    held = [
        (one.row["id"], request.answer)
        for (one, _), request in zip(pairs, requests, strict=True)
        if isinstance(request.answer, RowLocked)
    ]
    if held:
        raise SchedulesHeld([schedule_id for schedule_id, _ in held], str(held[0][1]))


def _refusal(answer: Accepted | Exception | None) -> Refusal | None:
    match answer:
        case Accepted(existing=existing) if existing:
            holder = ids.show("job", next(iter(existing)))
            return Refusal("coalesced", f"key: {holder} has its unique key")
        case Accepted():
            return None
        case WindlassError():
            return Refusal("skipped", f"{answer.code}: {answer}")
        case _:
            return Refusal("skipped", f"error: {answer}")
