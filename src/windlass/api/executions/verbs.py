"""The verbs on one execution: cancel, pause, resume, rerun, and signals to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.executions.executions import ITS_ID, PATH, TAG, execution_id_of
from windlass.api.executions.schema import RERUN, SIGNAL
from windlass.api.executions.view import execution_view
from windlass.api.http import body as bodies
from windlass.api.http import shapes as schemas
from windlass.api.http.body import fields_of, read_fields
from windlass.api.http.caller import caller_of
from windlass.api.http.idempotency import HEADER, KEY_SCHEMA, REPLAYED, idempotency_of
from windlass.api.http.query import read_short_text, short_text_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.engine.effects import Effects
from windlass.engine.executions.control import cancel_execution, pause_execution, resume_execution
from windlass.engine.executions.read import read_execution
from windlass.engine.executions.rerun import rerun
from windlass.engine.executions.signals import send_signal
from windlass.errors import InvalidInput
from windlass.limits import NAME_CHARS_MAX, RESULT_BYTES_MAX, STEP_ID_CHARS_MAX
from windlass.model.json import strict as strict_json
from windlass.model.workflow.execution import ENDED
from windlass.store.database import Database

Verb = Callable[[Database, UUID], Awaitable[Effects]]


class ExecutionVerbs:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._database = parts.database

    async def cancel(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        execution_id = await self._do(request, cancel_execution)
        row = await read_execution(self._database, execution_id)
        # What runs is asked to stop, which takes its time.
        return json_reply(execution_view(row), 200 if row["state"] in ENDED else 202)

    async def pause(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await self._shown(await self._do(request, pause_execution))

    async def resume(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await self._shown(await self._do(request, resume_execution))

    async def rerun(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        execution_id = execution_id_of(request)
        given = await read_fields(request, {"from_step": _step})
        done = await rerun(self._database, execution_id, given.get("from_step"))
        self._follow(done.effects)
        return await self._shown(execution_id)

    async def signal(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        execution_id, name = execution_id_of(request), _name(request)
        caller = caller_of(request.scope)
        body = await bodies.read_bytes(request)
        if body:
            bodies.check_type(caller)
        given = fields_of(await bodies.parse(body) if body else {}, {"payload": read_payload})
        mark = idempotency_of(caller, "POST", request.scope["path"], body)
        payload = given.get("payload", "null")
        sent = await send_signal(self._database, execution_id, name, payload, caller.owner, mark)
        self._follow(sent.effects)
        view = {
            "id": ids.show("signal", sent.signal_id),
            "execution_id": ids.show("execution", execution_id),
            "name": name,
            "taken_by": None if sent.taken_by is None else ids.show("job", sent.taken_by),
        }
        return json_reply(view, 200, REPLAYED) if sent.is_replayed else json_reply(view, 201)

    async def _do(self, request: Call, verb: Verb) -> UUID:
        execution_id = execution_id_of(request)
        await bodies.read_nothing(request)
        self._follow(await verb(self._database, execution_id))
        return execution_id

    def _follow(self, effects: Effects) -> None:
        self._parts.follower.follow(effects)
        self._parts.announcer.happened()

    async def _shown(self, execution_id: UUID) -> ASGIApp:
        return json_reply(execution_view(await read_execution(self._database, execution_id)))


def _name(request: Call) -> str:
    try:
        return read_short_text(request.path_params["name"], NAME_CHARS_MAX)
    except ValueError as trouble:
        raise InvalidInput.at("{name}", str(trouble)) from None


def _step(value: object) -> str:
    return read_short_text(value, STEP_ID_CHARS_MAX)


def read_payload(value: object) -> str:
    """As JSON."""
    text = strict_json.write(value)
    if len(text.encode()) > RESULT_BYTES_MAX:
        raise ValueError(f"is larger than {RESULT_BYTES_MAX} bytes; store it and send a reference")
    return text


_CANCEL: Final = (
    "Steps that wait end at once, and one that waits for its turn with them (200); what runs is "
    "asked to stop (202). Child executions are cancelled too. Asking again does no harm."
)
_RERUN: Final = (
    "Of an execution that has ended, the named step and all that follows from it are done again; "
    "without one, the steps that failed, were cancelled or never had their turn. A step that was "
    "compensated is done again in any case."
)
_SIGNAL: Final = (
    "The step that waits for it longest gets it; if none does it is kept until one asks. `payload` "
    "becomes that step's output."
)


def routes(parts: ApiParts) -> list[Route]:
    verbs = ExecutionVerbs(parts)
    shown = Answer(description="The execution", schema=schemas.ref("Execution"))
    asked = Answer(description="It is ending", schema=schemas.ref("Execution"))
    sent = schemas.ref("ExecutionSignal")
    plain = [
        Route(
            method="POST",
            path=f"{PATH}/{word}",
            needs="executions:control",
            confined_by="execution",
            handle=handle,
            summary=summary,
            description=description,
            tag=TAG,
            path_schemas=ITS_ID,
            answers=answers,
            problems=(404, 409),
        )
        for word, handle, summary, description, answers in (
            ("cancel", verbs.cancel, "Cancel an execution", _CANCEL, {200: shown, 202: asked}),
            ("pause", verbs.pause, "Let no further step start", "", {200: shown}),
            ("resume", verbs.resume, "Let a paused execution go on", "", {200: shown}),
        )
    ]
    return [
        *plain,
        Route(
            method="POST",
            path=f"{PATH}/rerun",
            needs="executions:control",
            confined_by="execution",
            handle=verbs.rerun,
            summary="Do an execution again, from a step on",
            description=_RERUN,
            tag=TAG,
            path_schemas=ITS_ID,
            body=RERUN,
            is_body_optional=True,
            matters_twice=True,
            answers={200: shown},
            problems=(400, 404, 409, 413, 415),
        ),
        Route(
            method="POST",
            path=f"{PATH}/signals/{{name:str}}",
            needs="executions:control",
            confined_by="execution",
            handle=verbs.signal,
            summary="Send a signal to an execution",
            description=_SIGNAL,
            tag=TAG,
            path_schemas={**ITS_ID, "name": short_text_schema(NAME_CHARS_MAX)},
            headers={HEADER: ("Makes a repetition harmless", KEY_SCHEMA)},
            body=SIGNAL,
            is_body_optional=True,
            answers={
                201: Answer(description="Committed: it will not be lost", schema=sent),
                200: Answer(
                    description="This Idempotency-Key was answered before",
                    schema=sent,
                    headers={"Idempotent-Replayed": "`true`: this key was answered before"},
                ),
            },
            problems=(400, 404, 409, 413, 415, 429),
        ),
    ]
