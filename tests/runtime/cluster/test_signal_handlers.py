"""What a node answers to signals, whatever stands in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from windlass import ids
from windlass.engine.announce import Announcer
from windlass.engine.cache.cache import Codec
from windlass.engine.cache.registry import Caches
from windlass.fastlane.lane import FastLane
from windlass.runtime.cluster.signal_handlers import SignalHandlers, node_handlers
from windlass.runtime.worker.kinds import Kinds
from windlass.strategies.builtin import Noop

HERE = {uuid4(), uuid4(), uuid4()}


@pytest.fixture
def announcer() -> Announcer:
    return Announcer(FastLane(None))


@pytest.fixture
def caches(announcer: Announcer) -> Caches:
    return Caches(FastLane(None), announcer, b"a database")


@pytest.fixture
def handlers(announcer: Announcer, caches: Caches) -> SignalHandlers:
    kinds = Kinds(
        instant={"noop": Noop()}, slotted={}, timeout_seconds={}, default_timeout_seconds=1.0
    )
    return node_handlers(
        announcer=announcer,
        caches=caches,
        kinds=kinds,
        say_kinds=say_kinds,
        stop_cancelled=stop_cancelled,
    )


async def say_kinds() -> None:
    """As if PostgreSQL had heard it."""


async def stop_cancelled(named: set[UUID] | None) -> int:
    """As if three jobs that were cancelled ran here."""
    return 3 if named is None else len(named & HERE)


async def test_what_every_node_answers_to(handlers: SignalHandlers) -> None:
    assert await handlers.answer("ping", {"any": "thing"}) == {}
    assert await handlers.answer("cancel", {}) == {"stopped": 3}
    nothing: dict[str, Any] = {"added": [], "changed": [], "removed": [], "errors": {}}
    assert await handlers.answer("reload", {}) == {"kinds": ["noop"], **nothing}


async def test_a_cancel_is_about_the_jobs_that_it_names(handlers: SignalHandlers) -> None:
    named = [ids.show("job", job_id) for job_id in [*HERE, uuid4()]]
    assert await handlers.answer("cancel", {"jobs": named[2:]}) == {"stopped": 1}
    assert await handlers.answer("cancel", {"jobs": []}) == {"stopped": 0}


@pytest.mark.parametrize("payload", [{"jobs": "all"}, {"jobs": ["job_1"]}, {"job": []}])
async def test_a_cancel_that_cannot_be_read_stops_nothing(
    handlers: SignalHandlers, payload: dict[str, Any]
) -> None:
    assert "'cancel' failed" in (await handlers.answer("cancel", payload))["error"]


async def test_invalidation_reaches_the_listeners_of_this_process(
    handlers: SignalHandlers, announcer: Announcer
) -> None:
    heard: list[tuple[str, list[str]]] = []
    announcer.on_secret(lambda names: heard.append(("secret", names)))
    announcer.on_target(lambda names: heard.append(("target", names)))
    answer = await handlers.answer("invalidate", {"secret": ["a", "b"], "target": ["x:80"]})
    assert answer == {"secret": 2, "target": 1}
    assert sorted(heard) == [("secret", ["a", "b"]), ("target", ["x:80"])]


async def test_an_invalidation_of_a_cache_says_how_many_values_were_kept(
    handlers: SignalHandlers, caches: Caches
) -> None:
    async def load_many(keys: Sequence[str]) -> dict[str, str]:
        return {key: key.upper() for key in keys}

    codec: Codec[str, str] = Codec(decode=lambda payload: msgspec.msgpack.decode(payload, type=str))
    cache = caches.make("letters", load_many, codec)
    await cache.get_many(["a", "b", "c"])
    told = {"cache": ["letters:a", "letters:z", "other"]}
    assert await handlers.answer("invalidate", told) == {"cache": 1}
    assert (cache.peek("a"), cache.peek("b")) == (None, "B")
    assert await handlers.answer("invalidate", {"cache": ["letters"]}) == {"cache": 2}


@pytest.mark.parametrize(
    "payload", [{"secret": "a"}, {"secret": [1]}, {"cancel": ["x"]}, {"toaster": []}]
)
async def test_an_invalidation_that_cannot_be_read_is_answered_with_an_error(
    handlers: SignalHandlers, announcer: Announcer, payload: dict[str, Any]
) -> None:
    announcer.on_secret(lambda _: pytest.fail("nobody is told"))
    error = (await handlers.answer("invalidate", payload))["error"]
    assert "'invalidate' failed" in error
    assert ("list of names" if "secret" in payload else "known are target secret") in error


async def test_a_name_that_is_not_known_and_a_handler_that_breaks_are_answers_too(
    handlers: SignalHandlers,
) -> None:
    async def breaks(_payload: dict[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError

    handlers.on("breaks", breaks)
    assert await handlers.answer("breaks", {}) == {
        "error": "signal 'breaks' failed: ZeroDivisionError"
    }
    unknown = (await handlers.answer("dance", {}))["error"]
    assert unknown.endswith("known are breaks cancel invalidate ping reload")
