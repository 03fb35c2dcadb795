"""The examples are code that runs, with and without a node."""

from __future__ import annotations

import pytest
from examples.shop import OutOfStock, app, draw_label, reserve_goods, total_of

from windlass.strategies.task import load_tasks


def test_a_task_of_the_shop_is_called_like_any_function() -> None:
    assert total_of([("tea", 2, 4.5), ("mug", 1, 12.0)]) == 21.0
    assert draw_label("A. Reader, 1 Long Road") == (
        "+-------------+\n| A. Reader   |\n| 1 Long Road |\n+-------------+"
    )


async def test_an_async_task_of_the_shop_is_awaited_like_any_coroutine() -> None:
    assert await reserve_goods("tea", 2) == {"reserved": 2, "left": 8}
    with pytest.raises(OutOfStock, match="11 tea were asked for and 10 are there"):
        await reserve_goods("tea", 11)


def test_a_node_finds_the_tasks_of_the_shop_and_how_each_one_runs() -> None:
    tasks = load_tasks("examples.shop:app")
    assert tasks.keys() == app.tasks.keys() == {"total_of", "reserve", "draw_label"}
    assert tasks["reserve"].is_async
    assert {name for name, task in tasks.items() if task.is_isolated} == {"draw_label"}
