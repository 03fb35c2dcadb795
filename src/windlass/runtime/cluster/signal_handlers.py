"""Handlers of signals between nodes: ping, cancel, invalidate, reload; a name, and who answers.

A handler takes the payload and returns the answer. It runs at most once for a signal, under a
deadline; that it failed, or that there is none, is an answer too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

import msgspec
import structlog

from windlass import ids
from windlass.engine.announce import Announcer
from windlass.engine.cache.registry import Caches
from windlass.limits import SIGNAL_HANDLER_SECONDS
from windlass.model.cluster.node_signal import Answer
from windlass.runtime.worker.kinds import Kinds

log = structlog.get_logger()

_CACHED: Final = ("target", "secret", "cache", "key")

Handler = Callable[[dict[str, Any]], Awaitable[Answer]]
# Takes the jobs that are spoken of (None: any), and returns how many it has told to stop.
StopCancelled = Callable[[set[UUID] | None], Awaitable[int]]


class _Cancelled(msgspec.Struct, forbid_unknown_fields=True):
    """What `cancel` carries."""

    jobs: list[str] | None = None


class SignalHandlers:
    def __init__(self) -> None:
        self._by_name: dict[str, Handler] = {}

    def on(self, name: str, handler: Handler) -> None:
        assert name not in self._by_name, f"signal {name!r} has a handler"
        self._by_name[name] = handler

    async def answer(self, name: str, payload: dict[str, Any]) -> Answer:
        handler = self._by_name.get(name)
        if handler is None:
            known = " ".join(sorted(self._by_name))
            return {"error": f"signal {name!r} is not known here; known are {known}"}
        try:
            async with asyncio.timeout(SIGNAL_HANDLER_SECONDS):
                return await handler(payload)
        except TimeoutError:
            return {"error": f"signal {name!r} was not done in {SIGNAL_HANDLER_SECONDS:g} s"}
        except Exception as trouble:
            log.exception("signal_failed", signal=name)
            return {"error": f"signal {name!r} failed: {str(trouble) or type(trouble).__name__}"}


def node_handlers(
    *,
    announcer: Announcer,
    caches: Caches,
    kinds: Kinds,
    say_kinds: Callable[[], Awaitable[None]],  # tells PostgreSQL what is performed here
    stop_cancelled: StopCancelled,
) -> SignalHandlers:
    """What every node answers to."""

    async def ping(_payload: dict[str, Any]) -> Answer:
        return {}

    async def cancel(payload: dict[str, Any]) -> Answer:
        """What must stop is read from PostgreSQL; nobody's word is taken for it.

        `{"jobs": ["job_…", …]}`: it is asked only if one of these is here.
        """
        told = msgspec.convert(payload, _Cancelled)
        named = None if told.jobs is None else {ids.parse("job", text) for text in told.jobs}
        return {"stopped": await stop_cancelled(named)}

    async def invalidate(payload: dict[str, Any]) -> Answer:
        """`{"target": ["host", …], "secret": ["name", …], "cache": ["cache:key", "cache", …]}`:
        these are not believed any more. A cache's name alone is all that it keeps; `"key": []` is
        every API key.
        """
        if unknown := sorted(payload.keys() - set(_CACHED)):
            known = " ".join(_CACHED)
            raise ValueError(f"nothing is kept of {unknown[0][:60]!r}; known are {known}")
        try:
            told = msgspec.convert(payload, dict[str, list[str]])
        except msgspec.ValidationError:
            raise ValueError('each must be a list of names, as {"target": ["a.example"]}') from None
        cached = told.pop("cache", None)
        announcer.hear(told)
        answer: Answer = {noun: len(names) for noun, names in told.items()}
        if cached is not None:
            answer["cache"] = await caches.invalidate(cached)  # how many were kept here
        return answer

    async def reload(_payload: dict[str, Any]) -> Answer:
        """Plugins are loaded again, from the files as they are now; what runs is left alone."""
        replaced = await kinds.load_plugins(is_again=True)
        await say_kinds()
        return {"kinds": kinds.names, **asdict(replaced)}

    handlers = SignalHandlers()
    table = {"ping": ping, "cancel": cancel, "invalidate": invalidate, "reload": reload}
    for name, handler in table.items():
        handlers.on(name, handler)
    return handlers
