"""Celery's own canvases on Windlass give what Celery itself gives (`task_always_eager`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import celery
import pytest
from celery import chain, chord, group

from tests.sdk.bridges import celery_shop as shop
from tests.until import until
from windlass.errors import JobFailed
from windlass.sdk.bridges.asgi import lifespan
from windlass.testing.servers import PrivateServers

add, total, order = shop.add, shop.total, shop.order
PAIRS = [(n, n) for n in range(5)]

CANVASES: dict[str, Callable[[], Any]] = {
    "a task": lambda: add.s(1, 2),
    "sig | sig": lambda: add.s(1, 2) | add.s(10),
    "sig | sig | sig": lambda: add.s(1) | add.s(2) | add.s(3),
    "chain(chain, chain)": lambda: chain(add.s(1) | add.s(2), add.s(3) | add.s(4)),
    "chain of one": lambda: chain(add.s(1)),
    "si only waits": lambda: add.s(1) | add.si(7),
    "group": lambda: group(add.s(n, n) for n in range(4)),
    "group of nothing": lambda: group([]),
    "group of groups": lambda: group(group(add.s(1), add.s(2)), add.s(3)),
    "group of chains": lambda: group(add.s(1) | add.s(2), add.s(3) | add.s(4)),
    "group of a chord": lambda: group(chord([add.s(1), add.s(2)], total.s()), add.s(9)),
    "group of a chain that ends in a group": lambda: group(
        add.s(1) | group(add.s(2), add.s(3)), add.s(3)
    ),
    "chord": lambda: chord([add.s(n) for n in range(4)], total.s()),
    "chord of one": lambda: chord([add.s(1)], order.s()),
    "chord of nothing": lambda: chord([], order.s()),
    "chord of chains": lambda: chord([add.s(1) | add.s(2), add.s(3) | add.s(4)], order.s()),
    "chord of a chain that ends in a group": lambda: chord(
        [add.s(1) | group(add.s(2), add.s(3)), add.s(3)], order.s()
    ),
    "chord with a chain as its body": lambda: chord([add.s(1), add.s(2)], total.s() | add.s(10)),
    "chord | sig": lambda: chord([add.s(1), add.s(2)], total.s()) | add.s(10),
    "chord with an immutable body": lambda: chord([add.s(1), add.s(2)], add.si(7)),
    "sig | chord | sig": lambda: add.s(1) | chord([add.s(1), add.s(2)], total.s()) | add.s(100),
    "sig | group": lambda: add.s(1) | group(add.s(2), add.s(3)),
    "sig | group | sig": lambda: add.s(1) | group(add.s(2), add.s(3)) | order.s(),
    "sig | group of one | sig": lambda: add.s(1) | group(add.s(2)) | order.s(),
    "chain(group of one, sig)": lambda: chain(group(add.s(1)), order.s()),
    "group of one | sig": lambda: group(add.s(1)) | order.s(),
    "group | sig": lambda: group(add.s(1), add.s(2)) | total.s(),
    "group | group": lambda: group(add.s(2), add.s(3)) | group(total.s(), order.s()),
    "map": lambda: add.map([1, 2, 3]),
    "map of tuples": lambda: order.map([[1], (2, 3)]),
    "map | sig": lambda: add.map([1, 2]) | total.s(),
    "sig | map": lambda: add.s(1) | add.map([1, 2]),
    "starmap": lambda: add.starmap([(1, 2), (3,)]),
    "starmap of a generator": lambda: add.starmap((n, n) for n in range(3)),
    "chunks": lambda: add.chunks(zip(range(5), range(5), strict=True), 2),
    "chunks in one": lambda: add.chunks([(1, 2)], 10),
    "chunks.group() | sig": lambda: chain(add.chunks(PAIRS, 2).group(), order.s()),
}


@pytest.fixture(scope="module", autouse=True)
async def node(servers: PrivateServers, template_url: str) -> AsyncIterator[None]:
    url = await servers.create_database(template_url)
    live = lifespan(shop.windlass, database_url=url, redis_url=servers.redis_of(url), workers=4)
    async with live(None):
        yield


@contextmanager
def eager() -> Iterator[None]:
    shop.celery.conf.task_always_eager = True
    try:
        yield
    finally:
        shop.celery.conf.task_always_eager = False


def jobs(**filters: Any) -> list[dict[str, Any]]:
    return list(shop.windlass.blocking.jobs.list(**filters))


@pytest.mark.parametrize("name", CANVASES)
def test_a_canvas_gives_what_celery_gives(name: str) -> None:
    with eager():
        expected = CANVASES[name]().apply_async().get()
    before = {job["id"] for job in jobs()}
    assert CANVASES[name]().apply_async().get(timeout=30) == expected
    made = {job["id"] for job in jobs()} - before
    assert bool(made) == (name != "group of nothing")
    assert CANVASES[name]().delay().get(timeout=30) == expected


@pytest.mark.parametrize(
    ("canvas", "args"),
    [
        (lambda: add.s(1) | add.s(2), (5,)),
        (lambda: group(add.s(1), add.si(2)), (5,)),
        (lambda: chord([add.s(1), add.s(2)], total.s()), (5,)),
        (lambda: group(add.s(1) | add.s(2), add.s(3)), (5,)),
    ],
)
def test_partial_arguments_go_where_celery_puts_them(
    canvas: Callable[[], Any], args: tuple[int, ...]
) -> None:
    with eager():
        expected = canvas().apply_async(args).get()
    assert canvas().apply_async(args).get(timeout=30) == expected


def test_a_chord_takes_its_body_when_it_is_called() -> None:
    assert chord(add.s(n, n) for n in range(5))(total.s()).get(timeout=30) == 20
    assert chord([add.s(1), add.s(2)])(total.s(), countdown=0).get(timeout=30) == 3


def test_calling_chunks_starts_them() -> None:
    assert add.chunks(PAIRS, 2)().get(timeout=30) == [[0, 2], [4, 6], [8]]
    assert group(add.chunks(PAIRS, 2)).delay().get(timeout=30) == [[0, 2], [4, 6], [8]]


def test_the_results_above_are_the_parents() -> None:
    last = (add.s(1) | add.s(2) | add.s(3)).apply_async()
    assert last.get(timeout=30) == 6
    assert (last.parent.get(), last.parent.parent.get(), last.parent.parent.parent) == (3, 1, None)
    body = chord([add.s(1), add.s(2)], total.s()).apply_async()
    assert body.get(timeout=30) == 3
    assert body.parent.get() == [1, 2]


def test_options_of_a_chain_are_its_first_tasks_and_its_id_the_last_ones() -> None:
    last = (add.s(1) | add.s(2)).apply_async(countdown=0, priority=9, task_id="the-end")
    assert (last.id, last.get(timeout=30)) == ("the-end", 3)
    assert shop.celery.windlass.AsyncResult("the-end").get(timeout=30) == 3
    first = shop.windlass.blocking.jobs.get(last.parent.id)
    end = jobs(correlation_id="the-end")[0]
    assert (first["priority"], end["priority"]) == ("critical", "normal")


async def test_links_of_a_task_a_chain_and_a_chord_are_called_with_their_results() -> None:
    for canvas in (
        add.s(1, 2),
        add.s(1) | add.s(2),
        chord([add.s(1), add.s(2)], total.s()),
    ):
        canvas.link(shop.note.s("linked"))
        assert canvas.apply_async().get(timeout=30) == 3
        await until(lambda: shop.noted == [("linked", [3])])
        shop.noted.clear()
    group_of_two = group(add.s(1), add.s(2))
    group_of_two.link(shop.note.s("linked"))
    assert group_of_two.apply_async().get(timeout=30) == [1, 2]
    await until(lambda: shop.noted == [("linked", [])])
    shop.noted.clear()


def test_a_group_takes_no_link_in_celerys_words() -> None:
    with pytest.raises(TypeError, match="Cannot add link to group: use a chord"):
        group(add.s(1), add.s(2)).apply_async(link=add.s(1))
    with pytest.raises(TypeError, match="do that on individual tasks"):
        group(add.s(1), add.s(2)).apply_async(link_error=add.s(1))


async def test_an_errback_is_told_of_the_failure_of_a_task_and_not_of_its_success() -> None:
    fine = add.apply_async((1, 2), link_error=shop.on_error.s())
    assert fine.get(timeout=30) == 3
    failed = shop.broken.apply_async(link_error=[shop.on_error.s(), shop.on_error_id.s()])
    with pytest.raises(JobFailed, match="stamps"):
        failed.get(timeout=30)
    await until(lambda: len(shop.noted) == 2)
    await until(lambda: not jobs(state=["queued", "blocked", "running"]))
    told = dict(shop.noted)
    assert told["error"] == [failed.id, "shop.broken", "KeyError", True]
    assert told["error of"] == [failed.id]
    shop.noted.clear()


async def test_an_errback_of_a_chain_is_called_once_for_the_task_that_failed() -> None:
    started = add.s(1) | shop.broken.si() | add.si(2)
    started.link_error(shop.on_error_id.s())
    last = started.apply_async()
    with pytest.raises(JobFailed, match="stamps"):
        last.get(timeout=30)
    await until(lambda: not jobs(state=["queued", "blocked", "running"]))
    assert shop.noted == [("error of", [last.parent.id])]
    assert last.state == "FAILURE"
    shop.noted.clear()


async def test_an_errback_of_a_chord_is_told_when_its_header_fails() -> None:
    started = chord([add.s(1), shop.broken.si()], total.s().on_error(shop.on_error.s()))
    body = started.apply_async()
    with pytest.raises(JobFailed, match="stamps"):
        body.get(timeout=30)
    await until(lambda: not jobs(state=["queued", "blocked", "running"]))
    assert shop.noted == [("error", [body.id, "shop.total", "ChordError", True])]
    shop.noted.clear()


def test_a_canvas_of_a_queue_that_stays_is_celerys() -> None:
    result = (shop.stay.si() | shop.stay.si()).apply_async()
    assert isinstance(result, celery.result.AsyncResult)
    assert isinstance(group(shop.stay.si(), shop.stay.si())(), celery.result.GroupResult)


def test_a_link_to_a_queue_that_stays_is_refused_before_anything_is_sent() -> None:
    before = len(jobs())
    with pytest.raises(ValueError, match="'reports', which is still with Celery"):
        add.apply_async((1,), link=shop.stay.si())
    with pytest.raises(ValueError, match="a canvas cannot span both"):
        group(add.s(1), shop.stay.si()).apply_async()
    assert len(jobs()) == before


def test_a_header_that_is_too_long_says_so() -> None:
    with pytest.raises(ValueError, match=r"1001 tasks, and a job waits for at most 1000"):
        chord([add.s(n) for n in range(1001)], total.s()).apply_async()


def test_celerys_result_of_a_job_is_refused_and_the_applications_is_ours() -> None:
    result = add.delay(1, 2)
    with pytest.raises(ValueError, match=r"app\.AsyncResult"):
        celery.result.AsyncResult(result.id, app=shop.celery)
    assert shop.celery.AsyncResult(result.id).get(timeout=30) == 3
    assert add.AsyncResult(result.id) == result
