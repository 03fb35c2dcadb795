"""Durable functions on a node of this process: steps, retries, mismatches, branches."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import pytest

import windlass
from tests.sdk.durable.durable_node import DurableNode, durable_node
from tests.until import until
from windlass import App, DurableMisuse, JobFailed, Retry
from windlass.limits import RESULT_BYTES_MAX
from windlass.testing.servers import PrivateServers

QUICK = Retry(3, initial=0.01, jitter=False)


@pytest.fixture(scope="module")
async def node(servers: PrivateServers, template_url: str) -> AsyncIterator[DurableNode]:
    """One for all: each test has functions of its own."""
    database_url = await servers.create_database(template_url)
    async with durable_node(
        App("durables"), database_url, servers.redis_of(database_url)
    ) as started:
        yield started


@pytest.fixture
def app(node: DurableNode) -> App:
    return node.app


@dataclass
class Box:
    size: int
    kept_for: timedelta


async def test_steps_are_done_in_order_and_give_what_their_hints_say(
    app: App, node: DurableNode
) -> None:
    @app.task
    def pack(size: int) -> Box:
        return Box(size, timedelta(days=size))

    async def label(box: Box) -> tuple[int, ...]:
        return (box.size, box.kept_for.days)

    @app.durable
    async def boxed(size: int, times: int = 2) -> list[int]:
        box = await windlass.step(pack, size)
        assert isinstance(box, Box)
        return [one for _ in range(times) for one in await windlass.step(label, box)]

    await node.deploy()
    handle = await boxed.astart(3)
    assert await handle.aresult(20) == [3, 3, 3, 3]
    assert await node.checkpoints(handle) == [
        ("", 0, "pack"),
        ("", 1, "label"),
        ("", 2, "label"),
    ]


async def test_what_was_done_before_a_failure_is_not_done_again(
    app: App, node: DurableNode
) -> None:
    done: Counter[str] = Counter()

    def count(what: str) -> int:
        done[what] += 1
        return done[what]

    @app.durable(retry=QUICK)
    async def twice() -> int:
        first = await windlass.step(count, "first")
        if await windlass.step(count, "second") and done["tries"] < 2:
            done["tries"] += 1
            raise RuntimeError("not yet")
        return first

    await node.deploy()
    handle = await twice.astart()
    assert await handle.aresult(20) == 1
    assert done == {"first": 1, "second": 1, "tries": 2}
    assert (await node.job_of(handle))["attempt"] == 3


async def test_a_step_that_fails_is_tried_again_at_once(app: App, node: DurableNode) -> None:
    tries: list[int] = []

    async def flaky() -> str:
        tries.append(len(tries))
        if len(tries) < 3:
            raise ConnectionError("gone")
        return "here"

    @app.durable(retry=1)
    async def patient() -> str:
        return await windlass.step(flaky, name="call", retry=QUICK)

    await node.deploy()
    handle = await patient.astart()
    assert await handle.aresult(20) == "here"
    assert len(tries) == 3
    assert await node.checkpoints(handle) == [("", 0, "call")]


async def test_a_failing_step_raises_in_the_function_which_may_handle_it(
    app: App, node: DurableNode
) -> None:
    async def declined() -> None:
        raise PermissionError("no money")

    @app.durable
    async def handled() -> str:
        try:
            await windlass.step(declined)
        except PermissionError as trouble:
            return str(trouble)
        return "paid"

    await node.deploy()
    assert await (await handled.astart()).aresult(20) == "no money"


async def test_steps_side_by_side_keep_their_places_whichever_ends_first(
    app: App, node: DurableNode
) -> None:
    tries: list[int] = []
    done: Counter[str] = Counter()

    async def work(name: str, seconds: float) -> str:
        done[name] += 1
        await asyncio.sleep(seconds)
        return name

    async def chain(name: str, seconds: float) -> list[str]:
        first = await windlass.step(work, f"{name}1", seconds, name=f"{name}1")
        return [first, await windlass.step(work, f"{name}2", 0.0, name=f"{name}2")]

    @app.durable(retry=QUICK)
    async def fan() -> list[list[str]]:
        both = await asyncio.gather(
            windlass.step(work, "a", 0.05, name="a"), windlass.step(work, "b", 0.0, name="b")
        )
        chains = await asyncio.gather(chain("x", 0.05), chain("y", 0.0))
        await windlass.step(work, "z", 0.0, name="z")
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("again")
        return [list(both), *chains]

    await node.deploy()
    handle = await fan.astart()
    assert await handle.aresult(20) == [["a", "b"], ["x1", "x2"], ["y1", "y2"]]
    assert set(done.values()) == {1}
    assert await node.checkpoints(handle) == [
        ("", 0, "a"),
        ("", 1, "b"),
        ("", 2, "z"),
        ("0", 0, "x1"),
        ("0", 1, "x2"),
        ("1", 0, "y1"),
        ("1", 1, "y2"),
    ]


async def test_a_deploy_that_changes_the_steps_stops_the_function_and_changes_nothing(
    app: App, node: DurableNode
) -> None:
    second = "ship"
    fails = True

    async def act(what: str) -> str:
        return what

    @app.durable(retry=QUICK)
    async def deliver() -> str:
        nonlocal second
        await windlass.step(act, "charge", name="charge")
        did = await windlass.step(act, second, name=second)
        if fails:
            second = "notify"  # the next attempt runs other code
            raise RuntimeError("down")
        return did

    await node.deploy()
    handle = await deliver.astart()
    with pytest.raises(JobFailed) as failed:
        await handle.aresult(20)
    assert failed.value.cause == "durable_mismatch"
    assert "'deliver' did 'ship' at place 1 before and calls 'notify'" in failed.value.message
    assert "  0      charge  charge\n> 1      ship    notify" in failed.value.message
    assert await node.checkpoints(handle) == [("", 0, "charge"), ("", 1, "ship")]
    assert (await node.job_of(handle))["attempt"] == 2
    # With the code that began it, it goes on from there.
    second, fails = "ship", False
    await app.client.jobs.retry(failed.value.job_id)
    assert await handle.aresult(20) == "ship"


async def test_a_function_that_returns_before_it_did_all_again_is_another_one(
    app: App, node: DurableNode
) -> None:
    names = ["one", "two"]

    async def act() -> None: ...

    @app.durable(retry=QUICK)
    async def shrinks() -> None:
        for name in names:
            await windlass.step(act, name=name)
        if len(names) == 2:
            names.pop()
            raise RuntimeError("down")

    await node.deploy()
    with pytest.raises(JobFailed, match="did 'two' at place 1 before and calls '-'"):
        await (await shrinks.astart()).aresult(20)


async def test_a_dead_one_goes_on_when_retried_and_begins_anew_when_rerun(
    app: App, node: DurableNode
) -> None:
    done: Counter[str] = Counter()

    async def act(what: str) -> None:
        done[what] += 1
        if what == "second" and done[what] < 3:
            raise RuntimeError("down")

    @app.durable(retry=1)
    async def falls() -> None:
        await windlass.step(act, "first")
        await windlass.step(act, "second")

    await node.deploy()
    handle = await falls.astart()
    with pytest.raises(JobFailed) as failed:
        await handle.aresult(20)
    await app.client.jobs.retry(failed.value.job_id)
    await until(lambda: _is_so(done["second"] == 2), what="it was tried again")
    with pytest.raises(JobFailed):
        await handle.aresult(20)
    assert done == {"first": 1, "second": 2}
    await app.client.executions.rerun(handle.id, "run")
    await handle.aresult(20)
    assert done == {"first": 2, "second": 3}


async def _is_so(fact: bool) -> bool:
    return fact


async def test_what_a_durable_function_cannot_do_is_said(app: App, node: DurableNode) -> None:
    async def inner() -> None: ...

    async def outer() -> None:
        await windlass.step(inner)

    async def unusable() -> object:
        return object()

    @app.durable(retry=1)
    async def mistaken(how: str) -> None:
        match how:
            case "nested":
                await windlass.step(outer)
            case "db":
                windlass.current().db.execute("SELECT 1")
            case "result":
                await windlass.step(unusable)
            case _:
                await windlass.wait_for("paid")

    await node.deploy()
    nested, db, result = [await mistaken.astart(how) for how in ("nested", "db", "result")]
    alone = await app.client.jobs.submit(
        kind="python",
        input={"task": "mistaken", "kwargs": {"how": "wait"}},
        retry={"max_attempts": 1},
    )
    with pytest.raises(JobFailed, match=r"DurableMisuse: step\('inner'\) inside a step"):
        await nested.aresult(20)
    with pytest.raises(JobFailed, match="DurableMisuse: current"):
        await db.aresult(20)
    with pytest.raises(JobFailed, match="result_unusable: step 'unusable': its result is not"):
        await result.aresult(20)
    ended = await app.client.jobs.wait(alone["id"], 20)
    assert "is no execution's" in ended["error"]["message"]


async def test_a_step_that_gives_something_else_than_it_says_fails_as_a_task_does(
    app: App, node: DurableNode
) -> None:
    async def forgetful() -> str:
        return cast("str", None)

    def forgetful_thread() -> list[str]:
        return cast("list[str]", None)

    @app.task
    def mistaken_task() -> str:
        return cast("str", 7)

    steps: dict[str, Callable[[], Any]] = {
        "forgetful": forgetful,
        "forgetful_thread": forgetful_thread,
        "mistaken_task": mistaken_task,
    }

    @app.durable(retry=QUICK)
    async def promised(which: str) -> None:
        await windlass.step(steps[which])

    await node.deploy()
    for which, said in [
        ("forgetful", "Expected `str`, got `null`"),
        ("forgetful_thread", "Expected `array`, got `null`"),
        ("mistaken_task", "Expected `str`, got `int`"),
    ]:
        handle = await promised.astart(which)
        with pytest.raises(JobFailed) as failed:
            await handle.aresult(20)
        assert failed.value.cause == "result_unusable"
        assert failed.value.message == (
            f"step {which!r}: its result is not what it says that it returns: {said}"
        )
        # Doing it again would not give it a better result, and nothing of it is kept.
        assert (await node.job_of(handle))["attempt"] == 1
        assert await node.checkpoints(handle) == []


async def test_a_step_that_does_not_promise_a_result_may_give_none() -> None:
    def nothing() -> None: ...

    def perhaps() -> str | None:
        return None

    def unsaid():  # type: ignore[no-untyped-def]
        return None

    assert [await windlass.step(one) for one in (nothing, perhaps, unsaid)] == [None] * 3


async def test_steps_that_one_decorator_wraps_keep_their_own_hints() -> None:
    def logged(function: Callable[[], Any]) -> Callable[[], Any]:
        @functools.wraps(function)
        def call() -> Any:
            return function()

        return call

    @logged
    def text() -> str:
        return "here"

    @logged
    def number() -> int:
        return 7

    @logged
    def nothing() -> None: ...

    assert [await windlass.step(one) for one in (text, number, nothing)] == ["here", 7, None]


async def test_a_result_that_is_too_large_for_a_step_is_told_as_that_of_a_task() -> None:
    def endless() -> str:
        return "x" * RESULT_BYTES_MAX

    with pytest.raises(windlass.InvalidArguments, match="step 'endless': its result has") as told:
        await windlass.step(endless)
    assert told.value.code == "result_too_large"


async def test_called_plainly_it_is_a_function_like_any_other() -> None:
    app = App("alone")

    def double(number: int) -> int:
        return 2 * number

    @app.durable
    async def four(number: int) -> int:
        await windlass.sleep(0)
        return await windlass.step(double, await windlass.step(double, number))

    assert await four(1) == 4
    with pytest.raises(DurableMisuse, match="outside a durable function"):
        windlass.wait_for("paid")


def test_a_function_that_cannot_be_durable_is_refused() -> None:
    app = App("alone")

    with pytest.raises(TypeError, match="is an async def"):
        app.durable(len)  # type: ignore[arg-type]

    async def by_position(*parts: str) -> None: ...

    with pytest.raises(TypeError, match="cannot take parts by position"):
        app.durable(by_position)

    async def order(number: int) -> None: ...

    app.durable(order)
    with pytest.raises(ValueError, match="there is a task 'order' already"):
        app.durable(order)


def test_arguments_are_named_and_checked_before_anything_is_sent() -> None:
    app = App("alone")

    @app.durable
    async def order(number: int, *, gift: bool = False) -> None: ...

    assert order.by_name((7,), {"gift": True}) == {"number": 7, "gift": True}
    for args, kwargs in [((), {}), (("x",), {}), ((1, 2), {}), ((1,), {"number": 1})]:
        with pytest.raises(windlass.InvalidArguments, match="order"):
            order.by_name(args, kwargs)
