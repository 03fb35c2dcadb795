"""Dependencies between jobs (`depends_on`), checked and linked when jobs are accepted.

Promises: a parent is locked from when it is looked at until the child is committed, so one that is
ending right now is either seen as ended or tells the child (G5). No child waits for a job that does
not exist, has ended, or waits for the child.
"""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from windlass import ids
from windlass.engine.jobs.request import Request
from windlass.errors import InvalidInput
from windlass.model.job.cycles import find_cycle
from windlass.model.job.draft import Draft
from windlass.store.database import Connection, Record
from windlass.store.statements import statement

# Of each child: its parents that have not ended, in order and each once.
Waits = dict[UUID, dict[UUID, None]]


async def check_parents(connection: Connection[Record], requests: list[Request]) -> Waits:
    """Parents that were named by their ids. Answers requests whose parents cannot be waited for."""
    asked = {p for request in requests for draft in request.drafts for p in draft.depends_on}
    unfinished, ended = await _find_parents(connection, asked)
    waits: Waits = defaultdict(dict)
    for request in requests:
        for place, job_id, draft in request.new:
            for nth, parent in enumerate(draft.depends_on):
                if parent in unfinished:
                    waits[job_id][parent] = None
                elif trouble := _parent_trouble(parent, ended.get(parent), draft):
                    at = f"/jobs/{place}/depends_on" if request.is_batch else "/depends_on"
                    # Beside names of places it is not known which one in the list it was.
                    nth_of = "" if draft.depends_on_places else f"/{nth}"
                    request.answer = InvalidInput.at(at + nth_of, trouble)
    return waits


async def _find_parents(
    connection: Connection[Record], asked: set[UUID]
) -> tuple[set[UUID], dict[UUID, str]]:
    """The unfinished ones, locked and noted as parents; and how the others have ended."""
    if not asked:
        return set(), {}
    marked = await connection.fetch(statement("parent_mark_many"), sorted(asked))
    unfinished = {record["id"] for record in marked}
    rest = sorted(asked - unfinished)
    ended = await connection.fetch(statement("parent_ended_many"), rest) if rest else []
    return unfinished, {record["id"]: record["state"] for record in ended}


async def check_batch_parents(
    connection: Connection[Record], requests: list[Request], waits: Waits
) -> None:
    """Parents that were named by their place in the batch, now that it is known which jobs those
    are: a place may stand for an earlier job that has its key, even for one that has ended.
    Raises: a batch is all or nothing, and alone in its transaction.
    """
    for request in requests:
        named = {request.job_ids[n] for draft in request.drafts for n in draft.depends_on_places}
        made = set(request.made)
        unfinished, ended = await _find_parents(connection, named - made)
        for place, job_id, draft in request.new:
            for parent in (request.job_ids[other] for other in draft.depends_on_places):
                if parent in made or parent in unfinished:
                    waits[job_id][parent] = None
                elif trouble := _parent_trouble(parent, ended.get(parent), draft):
                    raise InvalidInput.at(f"/jobs/{place}/depends_on", trouble)
        if named and len(set(request.job_ids)) < len(request.job_ids):
            _refuse_circle(request)


def _refuse_circle(request: Request) -> None:
    """The door has looked at places; where two of them are one job, there may be a new circle."""
    places = {job_id: place for place, job_id, _ in request.new}
    circle = find_cycle(
        {
            place: {
                places[parent]
                for parent in (request.job_ids[other] for other in draft.depends_on_places)
                if parent in places
            }
            for place, _, draft in request.new
        }
    )
    if circle:
        raise InvalidInput.at(
            f"/jobs/{circle[0]}/depends_on",
            "waits for itself: jobs of this batch that have one key are one job",
        )


def _parent_trouble(parent: UUID, state: str | None, draft: Draft) -> str | None:
    shown = ids.show("job", parent)
    if state is None:
        return f"{shown} is not a job that is known here"
    if state != "succeeded" and draft.on_parent_failure != "run":
        return f"{shown} has ended already as {state}; with on_parent_failure=run the job may go on"
    return None


async def link(connection: Connection[Record], requests: list[Request], waits: Waits) -> None:
    """Note who waits for whom, now that the children are inserted."""
    new = {job_id for request in requests for _, job_id, _ in request.new}
    links = [(parent, child) for child in waits if child in new for parent in waits[child]]
    if links:
        await connection.fetch(
            statement("dependency_insert_many"), [p for p, _ in links], [c for _, c in links]
        )
        inside = sorted({parent for parent, _ in links if parent in new})
        if inside:
            await connection.fetch(statement("parent_mark_many"), inside)
