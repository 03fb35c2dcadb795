"""What runs a test on each loop: a test that leaves something open fails, and does not hang."""

from __future__ import annotations

import asyncio

import pytest

from tests.strategies.python.loops import LOOPS, on_both_loops


async def _listen() -> asyncio.Server:
    return await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)


@on_both_loops
async def _leaves_a_server() -> None:
    await _listen()


@on_both_loops
async def _fails_beside_a_server() -> None:
    await _listen()
    raise LookupError("what went wrong")


def test_a_server_that_still_listens_is_told_of() -> None:
    with pytest.raises(AssertionError, match="unclosed"):
        _leaves_a_server(loop="uvloop")


@pytest.mark.parametrize("loop", LOOPS)
def test_what_a_test_fails_of_is_told_although_it_left_a_server(loop: str) -> None:
    with pytest.raises(LookupError, match="what went wrong"):
        _fails_beside_a_server(loop=loop)
