"""A receiver's answer, as far as it was read; the rest of it is worked out when asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from windlass.errors import MalformedBody
from windlass.limits import EXCERPT_CHARS_MAX
from windlass.model.json import strict as strict_json
from windlass.model.json.storable import harmless_text
from windlass.strategies.http.net.wire import Wire


class Answer:
    def __init__(self, wire: Wire, headers: Mapping[str, str], body: bytes) -> None:
        self.status = wire.status
        self.reason = wire.reason
        self.headers = headers  # the case of a name does not count
        self.location = headers.get("location", "")  # as it came; to be followed, never to be kept
        self.told: Collection[str] = ()  # the secrets that its sender knows from us
        self.body = body
        self.is_whole = wire.is_whole  # False: there was more than we read
        # The beginning, fit to be stored. A character has four bytes at most.
        head = body[: 4 * EXCERPT_CHARS_MAX].decode("utf-8", "replace")
        self.excerpt = harmless_text(head[:EXCERPT_CHARS_MAX])

    @cached_property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """Headers by lower-case name; those that came more than once are joined."""
        made: dict[str, str] = {}
        for name, text in self.headers.items():
            lower = name.lower()
            text = harmless_text(text)
            made[lower] = f"{made[lower]}, {text}" if lower in made else text
        return made

    @cached_property
    def json(self) -> Any:
        """The body parsed; None when it is not JSON, or not all of it was read."""
        if not self.is_whole:
            return None
        try:
            return strict_json.parse(self.body)
        except MalformedBody:
            return None

    @property
    def json_text(self) -> str | None:
        """What a body that calls itself JSON holds, as text that can be stored; else None."""
        kind = self.headers.get("content-type", "").lower()
        if "json" not in kind or not self.is_whole:
            return None
        try:
            return strict_json.write(strict_json.parse(self.body))
        except (MalformedBody, ValueError):
            return None
