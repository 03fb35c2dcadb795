"""The examples are code that runs, with and without a node."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples.shop import OutOfStock, app, draw_label, reserve_goods, total_of

from tests.house.repository import ROOT
from windlass.model.json import yaml as strict_yaml
from windlass.model.workflow.definition import Definition
from windlass.model.workflow.known_kinds import KnownKinds
from windlass.model.workflow.read import read_definition
from windlass.model.workflow.step_kinds import KINDS
from windlass.strategies.builtin import INPUT_CHECKS
from windlass.strategies.python.apps import load_tasks
from windlass.strategies.python.task import shape_of

WORKFLOWS = sorted((ROOT / "examples" / "workflows").glob("*.yaml"))


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


def read_example(path: Path) -> Definition:
    """Checked against the tasks of the shop as well."""
    tasks = load_tasks("examples.shop:app")
    shapes = {name: shape_of(task.function) for name, task in tasks.items()}
    kinds = KnownKinds(
        checks=INPUT_CHECKS,
        tasks={name: shape for name, shape in shapes.items() if shape is not None},
    )
    found = read_definition(strict_yaml.parse(path.read_bytes()), kinds)
    assert isinstance(found, Definition), found
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_workflow_of_the_examples_is_valid(path: Path) -> None:
    definition = read_example(path)
    named = {step.input["task"] for step in definition.steps if step.kind == "python"}
    assert named <= app.tasks.keys()


def test_there_is_an_example_of_each_kind_of_step() -> None:
    shown = {step.kind for path in WORKFLOWS for step in read_example(path).steps}
    assert shown == KINDS.keys()
    assert len({read_example(path).name for path in WORKFLOWS}) == len(WORKFLOWS)
