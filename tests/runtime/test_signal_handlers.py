"""What a node answers to signals, whatever stands in them."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.engine.announce import Announcer
from windlass.fastlane.lane import FastLane
from windlass.runtime.kinds import Kinds
from windlass.runtime.signal_handlers import SignalHandlers, node_handlers
from windlass.strategies.noop import Noop


@pytest.fixture
def announcer() -> Announcer:
    return Announcer(FastLane(None))


@pytest.fixture
def handlers(announcer: Announcer) -> SignalHandlers:
    kinds = Kinds(
        instant={"noop": Noop()}, slotted={}, timeout_seconds={}, default_timeout_seconds=1.0
    )
    return node_handlers(announcer=announcer, kinds=kinds, stop_cancelled=lambda: 3)


async def test_what_every_node_answers_to(handlers: SignalHandlers) -> None:
    assert await handlers.answer("ping", {"any": "thing"}) == {}
    assert await handlers.answer("cancel", {}) == {"held": 3}
    assert await handlers.answer("reload", {}) == {"kinds": ["noop"]}


async def test_invalidation_reaches_the_listeners_of_this_process(
    handlers: SignalHandlers, announcer: Announcer
) -> None:
    heard: list[tuple[str, list[str]]] = []
    announcer.on_secret(lambda names: heard.append(("secret", names)))
    announcer.on_target(lambda names: heard.append(("target", names)))
    answer = await handlers.answer("invalidate", {"secret": ["a", "b"], "target": ["x:80"]})
    assert answer == {"secret": 2, "target": 1}
    assert sorted(heard) == [("secret", ["a", "b"]), ("target", ["x:80"])]


@pytest.mark.parametrize(
    "payload", [{"secret": "a"}, {"secret": [1]}, {"cancel": ["x"]}, {"toaster": []}]
)
async def test_an_invalidation_that_cannot_be_read_is_answered_with_an_error(
    handlers: SignalHandlers, announcer: Announcer, payload: dict[str, Any]
) -> None:
    announcer.on_secret(lambda _: pytest.fail("nobody is told"))
    assert "'invalidate' failed" in (await handlers.answer("invalidate", payload))["error"]


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
