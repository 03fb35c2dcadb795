"""Durable functions under the virtual clock that users test with."""

from __future__ import annotations

from collections.abc import Callable

import windlass
from windlass.testing.local import Local


def test_days_of_sleep_and_patience_pass_at_once(windlass_local: Callable[..., Local]) -> None:
    app = windlass.App("virtual")
    done: list[str] = []

    def act(what: str) -> str:
        done.append(what)
        return what

    @app.durable
    async def remind() -> str:
        await windlass.step(act, "first")
        await windlass.sleep("3d")
        try:
            await windlass.wait_for("paid", timeout="1d")
        except TimeoutError:
            return await windlass.step(act, "second")
        return "paid"

    local = windlass_local(app)
    handle = remind.start()
    local.drain()
    assert done == ["first"]
    local.advance("2d")
    assert done == ["first"]
    local.advance("2d")
    assert handle.result(10) == "second"
    assert done == ["first", "second"]
