"""Authorisation of a request: the right that its route needs, the queue or workflow it touches.

Promises: a route is performed for nobody who lacks its right. A key that is confined to queues or
workflows touches nothing else: of what has no queue and no workflow it sees nothing, and a route
that does not say what confines it is not for such keys.
"""

from __future__ import annotations

import contextlib

from windlass import ids
from windlass.api.http.caller import caller_of
from windlass.api.http.route import Call, Route
from windlass.engine.audit.record import Entry
from windlass.engine.audit.refused import RefusedRecorder
from windlass.errors import Forbidden, NotFound, Unavailable
from windlass.model.identity.principal import Confined, MissingRight, Principal
from windlass.model.identity.rights import ANYBODY, NOBODY
from windlass.store.database import Database


async def authorize(route: Route, call: Call, confinement: Confinement) -> None:
    """Raises Forbidden; and NotFound where a confined key names what is not there."""
    if route.needs == NOBODY:
        return
    principal = caller_of(call.scope).known
    if route.needs == ANYBODY:
        return
    try:
        principal.check_right(route.needs)
        if principal.is_confined:
            await confinement.check(principal, route, call)
    except (MissingRight, Confined) as refusal:
        await confinement.record(route, call, refusal)
        raise


class Confinement:
    """Finds the queue and the workflow of what a request is about."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._refusals = RefusedRecorder()

    async def record(self, route: Route, call: Call, refusal: Forbidden) -> None:
        """In the audit log, as far as there is room for it; the caller hears of it in any case."""

        async def entry() -> Entry:
            path = call.scope["path"]
            after = {"method": route.method, "path": path, "needs": route.needs}
            return Entry(action="access.denied", name=path, after=after, note=str(refusal))

        with contextlib.suppress(Unavailable):
            await self._refusals.record(self._database, entry)

    async def check(self, principal: Principal, route: Route, call: Call) -> None:
        match route.confined_by:
            case "queue":
                principal.check_queue(call.path_params["name"])
            case "workflow":
                principal.check_workflow(call.path_params["name"])
            case "job":
                await self._check_job(principal, call.path_params["job_id"])
            case "execution":
                await self._check_execution(principal, call.path_params["execution_id"])
            case "asked":
                pass
            case None:
                noun = "queue" if principal.queues is not None else "workflow"
                raise Confined(noun, None, principal.queues or principal.workflows or ())

    async def _check_job(self, principal: Principal, text: str) -> None:
        try:
            job_id = ids.parse("job", text)
        except ValueError:
            return  # the route says what is wrong with it
        rows = await self._database.read("job_place", job_id)
        if not rows:
            raise NotFound("job", text)
        queue, workflow = rows[0]["queue"], rows[0]["workflow"]
        if queue not in (principal.queues or ()) and workflow not in (principal.workflows or ()):
            # Whose it is instead, is not told.
            raise Confined("queue", None, principal.queues or ())

    async def _check_execution(self, principal: Principal, text: str) -> None:
        try:
            execution_id = ids.parse("execution", text)
        except ValueError:
            return
        rows = await self._database.read("execution_place", execution_id)
        if not rows:
            raise NotFound("execution", text)
        if rows[0]["workflow"] not in (principal.workflows or ()):
            raise Confined("workflow", None, principal.workflows or ())
