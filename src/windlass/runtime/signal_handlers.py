"""What a node does when it is told something: a name, and who answers to it.

A handler takes the payload and returns the answer. It runs at most once for a signal, under a
deadline; that it failed, or that there is none, is an answer too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import structlog

from windlass.engine.announce import Announcer
from windlass.limits import SIGNAL_HANDLER_SECONDS
from windlass.model.signal import Answer
from windlass.runtime.kinds import Kinds

log = structlog.get_logger()

_CACHED: Final = frozenset({"target", "secret"})

Handler = Callable[[dict[str, Any]], Awaitable[Answer]]


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
    *, announcer: Announcer, kinds: Kinds, stop_cancelled: Callable[[], int]
) -> SignalHandlers:
    """What every node answers to."""

    async def ping(_payload: dict[str, Any]) -> Answer:
        return {}

    async def cancel(_payload: dict[str, Any]) -> Answer:
        """What must stop is read from PostgreSQL; nobody's word is taken for it."""
        return {"held": stop_cancelled()}

    async def invalidate(payload: dict[str, Any]) -> Answer:
        """`{"target": ["host", …], "secret": ["name", …]}`: these are not believed any more."""
        told = msgspec.convert(payload, dict[str, list[str]])
        if unknown := sorted(told.keys() - _CACHED):
            raise ValueError(f"nothing is kept of {unknown[0][:60]!r}; known are target secret")
        announcer.hear(told)
        return {noun: len(names) for noun, names in told.items()}

    async def reload(_payload: dict[str, Any]) -> Answer:
        """Strategies are loaded once, when the node starts; this says which they are."""
        return {"kinds": sorted([*kinds.instant, *kinds.slotted])}

    handlers = SignalHandlers()
    table = {"ping": ping, "cancel": cancel, "invalidate": invalidate, "reload": reload}
    for name, handler in table.items():
        handlers.on(name, handler)
    return handlers
