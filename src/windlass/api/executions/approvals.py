"""Approvals: which decisions people are asked for, and taking them."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import msgspec
from starlette.types import ASGIApp

from windlass import ids
from windlass.api.executions.schema import DECISION
from windlass.api.executions.verbs import read_payload
from windlass.api.http import shapes as schemas
from windlass.api.http.body import Readers, read_fields
from windlass.api.http.caller import caller_of
from windlass.api.http.noun import Noun
from windlass.api.http.paging import APPROVALS, page_reply
from windlass.api.http.query import choices_param, id_param, id_schema, limit_param, read_short_text
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Handle, Route
from windlass.api.jobs.view import Row, raw
from windlass.api.parts import ApiParts
from windlass.engine.executions.approvals import (
    STATES,
    ApprovalFilter,
    Decision,
    decide,
    list_approvals,
)
from windlass.errors import InvalidInput
from windlass.limits import COMMENT_CHARS_MAX, PAGE_DEFAULT

NOUN: Final = Noun(word="approval", key="approval_id", key_schema=id_schema("approval"))
_SHOWN: Final = ("title", "state", "comment", "decided_by", "created_at", "until", "decided_at")


def approval_view(row: Row) -> dict[str, Any]:
    return {
        "id": ids.show("approval", row["id"]),
        "execution_id": ids.show("execution", row["execution_id"]),
        "step": row["step"],
        "job_id": ids.show("job", row["job_id"]),
        "form": raw(row["form"]),
        "answer": raw(row["answer"]),
        **{name: row[name] for name in _SHOWN},
    }


def _comment(value: object) -> str:
    return read_short_text(value, COMMENT_CHARS_MAX)


# What an answer holds is up to its form; here, that it can be kept.
_READERS: Final[Readers] = {"answer": read_payload, "comment": _comment}


class Approvals:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts

    async def index(self, _request: Call, query: dict[str, Any]) -> ASGIApp:
        limit, before = query.pop("limit", PAGE_DEFAULT), query.pop("cursor", None)
        which = ApprovalFilter(states=query.pop("state", ()), **query)
        rows = await list_approvals(self._parts.database, which, limit, before)
        cursor = APPROVALS.show(rows[-1]["id"].hex) if len(rows) == limit else None
        return page_reply([approval_view(row) for row in rows], cursor)

    async def approve(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await self._decide(request, is_approved=True)

    async def reject(self, request: Call, _query: dict[str, Any]) -> ASGIApp:
        return await self._decide(request, is_approved=False)

    async def _decide(self, request: Call, *, is_approved: bool) -> ASGIApp:
        approval_id = _id_of(request)
        given = await read_fields(request, _READERS)
        decision = Decision(
            is_approved=is_approved,
            by=caller_of(request.scope).owner,
            answer=msgspec.json.decode(given.get("answer", "null")),
            comment=given.get("comment"),
        )
        decided = await decide(self._parts.database, approval_id, decision)
        self._parts.follower.follow(decided.effects)
        return json_reply(approval_view(decided.approval))


def _id_of(request: Call) -> UUID:
    try:
        return ids.parse("approval", request.path_params["approval_id"])
    except ValueError as trouble:
        raise InvalidInput.at("{approval_id}", str(trouble)) from None


def routes(parts: ApiParts) -> list[Route]:
    approvals = Approvals(parts)
    index = Route(
        method="GET",
        path=NOUN.many,
        needs="executions:read",
        handle=approvals.index,
        summary="List decisions that people are or were asked for, newest first",
        tag=NOUN.tag,
        query=(
            choices_param("state", STATES, "Decisions in one of these states"),
            id_param("execution_id", "execution", "Those that this execution asks for"),
            limit_param(),
            APPROVALS.param(),
        ),
        answers={
            200: Answer(description="A page of approvals", schema=schemas.page_of("Approval"))
        },
    )
    return [
        index,
        _verb("approve", approvals.approve, "Approve: the step that waits for it succeeds"),
        _verb("reject", approvals.reject, "Reject: the step that waits for it fails"),
    ]


def _verb(verb: str, handle: Handle, summary: str) -> Route:
    return Route(
        method="POST",
        path=f"{NOUN.one}/{verb}",
        needs="executions:approve",
        handle=handle,
        summary=summary,
        description="A decision is taken once. `answer` must be as the form asks for.",
        tag=NOUN.tag,
        path_schemas=NOUN.its_key,
        body=DECISION,
        answers=NOUN.shown,
        problems=(400, 404, 409, 413, 415),
    )
