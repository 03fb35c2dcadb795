"""A strategy of a plugin, as a node holds it: it may be replaced while attempts of it run.

    class Sms:
        input_schema = {"type": "object", "required": ["to"]}     # JSON Schema, or None
        output_schema = None

        def check_input(self, value): ...    # optional: [(pointer, detail), …]
        async def perform(self, attempt): ...   # -> an Outcome, as of strategies.strategy
        async def close(self): ...           # optional

Promises: an attempt ends with the strategy it began with, and that is closed after its last one.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any, Final, get_args

import msgspec
import structlog

from windlass.limits import PLUGIN_CLOSE_SECONDS, SCHEMA_JOB_WORK_MAX
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Failed, Outcome
from windlass.model.json.schema import value_problems
from windlass.model.json.schema_check import schema_mistakes
from windlass.strategies.strategy import Resizable, refused_input

log = structlog.get_logger()

Schema = Mapping[str, Any]
_OUTCOMES: Final = get_args(Outcome)


class PluginStrategy:
    """Raises ValueError when the class is not what a strategy must be."""

    def __init__(self, kind: str, made_by: object) -> None:
        if not isinstance(made_by, type):
            raise ValueError(f"it leads to a {type(made_by).__name__}; it must lead to a class")
        self.kind = kind
        self.input_schema = _schema_of(made_by, "input_schema")
        self.output_schema = _schema_of(made_by, "output_schema")
        self._inner: Any = made_by()
        if not inspect.iscoroutinefunction(getattr(self._inner, "perform", None)):
            raise ValueError(f"class {made_by.__name__} has no `async def perform(self, attempt)`")
        self._running = 0
        self._is_retired = False
        self._closing: asyncio.Task[None] | None = None

    def check_input(self, value: dict[str, Any]) -> list[tuple[str, str]]:
        """What its schema and then its own check say."""
        if self.input_schema is not None and (
            found := value_problems(value, self.input_schema, work_max=SCHEMA_JOB_WORK_MAX)
        ):
            return found
        check = getattr(self._inner, "check_input", None)
        if check is None:
            return []
        try:
            return [(str(pointer), str(detail)) for pointer, detail in check(value)]
        except Exception as trouble:
            log.exception("plugin_check_failed", kind=self.kind)
            return [("", f"could not be checked by its kind: {type(trouble).__name__}: {trouble}")]

    async def perform(self, attempt: Attempt) -> Outcome:
        if problems := self.check_input(msgspec.json.decode(attempt.input)):
            return refused_input(problems)
        self._running += 1
        try:
            outcome = await self._inner.perform(attempt)
        finally:
            self._running -= 1
            self._close_when_idle()
        if isinstance(outcome, _OUTCOMES):
            ended: Outcome = outcome
            return ended
        said = f"kind {self.kind!r} gave a {type(outcome).__name__}; it must give an outcome"
        return Failed("no_outcome", said, is_final=True)

    def resize(self, workers: int) -> None:
        if not isinstance(self._inner, Resizable):
            return
        try:
            self._inner.resize(workers)
        except Exception:  # of somebody else's code: nothing of ours depends on it
            log.exception("plugin_resize_failed", kind=self.kind)

    def retire(self) -> None:
        """No further attempt begins with it: it is closed after its last one."""
        self._is_retired = True
        self._close_when_idle()

    async def close(self) -> None:
        self.retire()
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"close {self.kind}")
        await self._closing

    def _close_when_idle(self) -> None:
        if self._is_retired and self._running == 0 and self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"close {self.kind}")

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(PLUGIN_CLOSE_SECONDS):
                ended = self._inner.close() if hasattr(self._inner, "close") else None
                if inspect.isawaitable(ended):
                    await ended
        except Exception:  # of somebody else's code: nothing of ours depends on it
            log.exception("plugin_close_failed", kind=self.kind)


def _schema_of(made_by: type, name: str) -> Schema | None:
    schema: Any = getattr(made_by, name, None)
    if schema is None:
        return None
    if not isinstance(schema, Mapping):
        raise ValueError(f"{name} must be a JSON Schema as a dict, or None")
    try:
        copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(dict(schema)))
    except (TypeError, ValueError) as trouble:
        raise ValueError(f"{name} must be JSON: {trouble}") from None
    if mistakes := schema_mistakes(copied):
        pointer, detail = mistakes[0]
        raise ValueError(f"{name}{pointer} {detail}")
    return copied
