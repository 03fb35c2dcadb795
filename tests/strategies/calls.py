"""Waiting for a call that is made elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from windlass.strategies.python.threads import Threads
from windlass.strategies.python.user_loop import UserLoop


async def called(
    runner: Threads | UserLoop,
    function: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
) -> Any:
    """What it gives; whoever cancels this stops the call."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def end(value: Any, raised: BaseException | None) -> None:
        if future.done():
            return  # its waiter has just been cancelled
        if raised is None:
            future.set_result(value)
        else:
            future.set_exception(raised)

    made = runner.start(function, args, kwargs, end)
    try:
        return await future
    except asyncio.CancelledError:
        made.stop()
        raise
