"""One connection: what is heard on it, and when another request may follow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.http1.answers import ANSWERS, BROKEN, OK, Heard, Told
from tests.http1.wired import BOUNDS, REQUEST, answering, exchange, wired
from tests.strategies.python.loops import on_both_loops
from windlass.http1.connection import Connection, ConnectionBroken, Fields
from windlass.limits import RESPONSE_BYTES_MAX

# -- what is heard -------------------------------------------------------------------------------


@pytest.mark.parametrize("told", ANSWERS.values(), ids=ANSWERS)
@on_both_loops
async def test_an_answer_is_heard_and_the_connection_kept_only_when_nothing_is_left_on_it(
    told: Told,
) -> None:
    async with wired(answering(told.answer, hangs_up=told.hangs_up)) as wire:
        heard = await exchange(wire, is_head=told.is_head)
        assert heard == told.heard
        assert wire.is_whole
        assert not {"location", "x", "link", "webhook-delivery"} & {name for name, _ in wire.fields}
        if heard.is_kept:
            assert await exchange(wire, is_head=told.is_head) == told.heard


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
@on_both_loops
async def test_what_is_no_answer_is_called_by_what_is_wrong_with_it(
    broken: tuple[bytes, str],
) -> None:
    answer, cause = broken
    async with wired(answering(answer, hangs_up=True)) as wire:
        with pytest.raises(ConnectionBroken) as caught:
            await exchange(wire)
        assert caught.value.cause == cause
        assert str(caught.value)
        assert not wire.is_reusable


class Wire(asyncio.Transport):
    """The far end of a wire, played by hand: every read has the size that is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.wire = Connection(BOUNDS)
        self.wire.connection_made(self)
        self._is_cut = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._is_cut

    def abort(self) -> None:
        self._is_cut = True

    async def exchange(self, pieces: Sequence[bytes], *, hangs_up: bool, is_head: bool) -> Heard:
        asking = asyncio.create_task(self.wire.ask(REQUEST, is_head=is_head))
        await asyncio.sleep(0)
        for piece in pieces:
            if not self._is_cut:
                self.wire.data_received(piece)
        if hangs_up and not self._is_cut:
            self.wire.eof_received()
        await asking
        body = await self.wire.body()
        return Heard(self.wire.status, body, self.wire.is_reusable)


def bytewise(text: bytes) -> list[bytes]:
    return [text[at : at + 1] for at in range(len(text))]


@pytest.mark.parametrize("told", ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_that_comes_byte_by_byte_is_heard_alike(told: Told) -> None:
    wire = Wire()
    heard = await wire.exchange(bytewise(told.answer), hangs_up=told.hangs_up, is_head=told.is_head)
    assert heard == told.heard


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_what_is_no_answer_is_none_byte_by_byte(broken: tuple[bytes, str]) -> None:
    answer, cause = broken
    with pytest.raises(ConnectionBroken) as caught:
        await Wire().exchange(bytewise(answer), hangs_up=True, is_head=False)
    assert caught.value.cause == cause


NAMES = st.text("abcXYZ-", min_size=1, max_size=8).map(lambda name: "x-" + name)
VALUES = st.text('ab é,;="', max_size=12).map(str.strip)
BODIES = st.binary(max_size=300)


@st.composite
def answers(draw: st.DrawFn) -> tuple[Told, Fields]:
    fields = draw(st.lists(st.tuples(NAMES, VALUES), max_size=5))
    status = draw(st.sampled_from([200, 201, 302, 404, 410, 500, 599, 204, 304]))
    framing = draw(st.sampled_from(["length", "chunks", "end"]))
    body = draw(BODIES)
    lines = [f"{name}: {value}" for name, value in fields]
    if status in (204, 304):
        # Whatever they say of a body, there is none.
        lines.append("content-length: 7")
        fields = [*fields, ("content-length", "7")]
        body, sent, framing = b"", b"", "length"
    elif framing == "length":
        lines.append(f"content-length: {len(body)}")
        fields = [*fields, ("content-length", str(len(body)))]
        sent = body
    elif framing == "chunks":
        lines.append("transfer-encoding: chunked")
        fields = [*fields, ("transfer-encoding", "chunked")]
        sent = draw(chunks(body))
    else:
        sent = body
    interim = draw(
        st.lists(
            st.sampled_from(["100 Continue", "102 Processing", "103 Early Hints\r\nlink: </a>"]),
            max_size=2,
        )
    )
    head = "".join(f"HTTP/1.1 {one}\r\n\r\n" for one in interim)
    head += "\r\n".join([f"HTTP/1.1 {status} So be it", *lines]) + "\r\n\r\n"
    told = Told(
        head.encode() + sent,
        Heard(status, body, framing != "end"),
        hangs_up=framing == "end",
    )
    return told, fields


@st.composite
def chunks(draw: st.DrawFn, body: bytes) -> bytes:
    made = b""
    while body:
        size = draw(st.integers(1, len(body)))
        extension = draw(st.sampled_from([b"", b";a", b';a="b c"']))
        made += b"%x%s\r\n%s\r\n" % (size, extension, body[:size])
        body = body[size:]
    behind = draw(st.lists(st.tuples(NAMES, VALUES), max_size=2))
    return made + b"0\r\n" + "".join(f"{n}: {v}\r\n" for n, v in behind).encode() + b"\r\n"


@given(answers(), st.lists(st.integers(0, 1_000), max_size=20))
def test_an_answer_is_the_same_however_it_is_cut_into_pieces(
    made: tuple[Told, Fields], cuts: list[int]
) -> None:
    told, fields = made
    cuts_at = sorted({0, *(cut % (len(told.answer) + 1) for cut in cuts), len(told.answer)})
    pieces = [told.answer[start:end] for start, end in pairwise(cuts_at)]
    wire = Wire()

    async def heard() -> Heard:
        return await wire.exchange(pieces, hangs_up=told.hangs_up, is_head=False)

    with asyncio.Runner() as runner:
        assert runner.run(heard()) == told.heard
    assert wire.wire.fields == fields
    assert wire.wire.reason == "So be it"
    assert wire.wire.is_whole


# -- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("over", "is_whole"), [(0, True), (1, False), (RESPONSE_BYTES_MAX, False)])
@on_both_loops
async def test_a_body_is_read_up_to_the_cap_and_then_cut_off(over: int, is_whole: bool) -> None:
    answer = OK + b"content-length: %d\r\n\r\n" % (RESPONSE_BYTES_MAX + over)
    async with wired(answering(answer + b"x" * (RESPONSE_BYTES_MAX + over))) as wire:
        heard = await exchange(wire)
        assert heard == Heard(200, b"x" * RESPONSE_BYTES_MAX, is_whole)
        assert wire.is_whole is is_whole


async def test_a_reason_is_kept_in_part() -> None:
    wire = Wire()
    answer = b"HTTP/1.1 200 " + b"O" * 50_000 + b"\r\ncontent-length: 0\r\n\r\n"
    for pieces in [answer], bytewise(answer):
        await wire.exchange(pieces, hangs_up=False, is_head=False)
        assert wire.wire.reason == "O" * 256
