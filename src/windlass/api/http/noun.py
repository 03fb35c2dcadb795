"""The routes that every noun has: a list, one of it by its key, and verbs on that one.

    GET /v1/queues      GET or PUT /v1/queues/{name}      POST /v1/queues/{name}/pause

A route that has more to say is an ordinary row (`api.http.route`) that takes its path from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from windlass.api.http.conditional import ETAG, TAKES_BOTH
from windlass.api.http.paging import Cursors
from windlass.api.http.query import limit_param
from windlass.api.http.route import Answer, Handle, Route
from windlass.api.http.shapes import Schema, page_of, ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    word: str  # queue; its plural takes an s, and its schema has its name
    key: str  # what the path calls that which tells one from another
    key_schema: Schema
    confined_by: Literal["queue"] | None = None  # see api.http.route

    @property
    def plural(self) -> str:
        return f"{self.word}s"

    @property
    def tag(self) -> str:
        return self.plural.capitalize()

    @property
    def many(self) -> str:
        """The path of the list."""
        return f"/v1/{self.plural}"

    @property
    def one(self) -> str:
        """The path of one."""
        return f"{self.many}/{{{self.key}:str}}"

    @property
    def its_key(self) -> dict[str, Schema]:
        return {self.key: self.key_schema}

    @property
    def shown(self) -> dict[int, Answer]:
        schema = ref(self.word.capitalize())
        return {200: Answer(description=f"The {self.word}", schema=schema, headers=ETAG)}

    def index(self, handle: Handle, summary: str, cursors: Cursors) -> Route:
        schema = page_of(self.word.capitalize())
        return Route(
            method="GET",
            path=self.many,
            handle=handle,
            needs=f"{self.plural}:read",
            summary=summary,
            tag=self.tag,
            query=(limit_param(), cursors.param()),
            answers={200: Answer(description=f"A page of {self.word}s", schema=schema)},
        )

    def get(self, handle: Handle, summary: str) -> Route:
        return Route(
            method="GET",
            path=self.one,
            handle=handle,
            needs=f"{self.plural}:read",
            confined_by=self.confined_by,
            summary=summary,
            tag=self.tag,
            path_schemas=self.its_key,
            answers=self.shown,
            problems=(404,),
        )

    def put(self, handle: Handle, summary: str, body: Schema) -> Route:
        """It is made if need be, and so never missing."""
        return Route(
            method="PUT",
            path=self.one,
            handle=handle,
            needs=f"{self.plural}:edit",
            confined_by=self.confined_by,
            summary=summary,
            tag=self.tag,
            path_schemas=self.its_key,
            headers=TAKES_BOTH,
            body=body,
            answers=self.shown,
            problems=(400, 412, 413, 415),
        )

    def verb(self, verb: str, handle: Handle, summary: str, body: Schema | None = None) -> Route:
        return Route(
            method="POST",
            path=f"{self.one}/{verb}",
            handle=handle,
            needs=f"{self.plural}:control",
            confined_by=self.confined_by,
            summary=summary,
            tag=self.tag,
            path_schemas=self.its_key,
            body=body,
            answers=self.shown,
            problems=(404,) if body is None else (400, 404, 413, 415),
        )
