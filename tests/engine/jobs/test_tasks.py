"""Tasks by name: whatever one of them says, its node starts, and the others are known."""

from __future__ import annotations

from tests.engine.hands import sql
from windlass.engine.jobs.tasks import DescribedTask, describe_tasks, forget_tasks, list_tasks
from windlass.limits import KEY_CHARS_MAX, TASK_DESCRIPTION_BYTES_MAX
from windlass.store.database import Database


def described(name: str, **description: object) -> DescribedTask:
    return DescribedTask(name=name, app="shop", description=description)


async def known(database: Database) -> dict[str, str]:
    return {row["name"]: row["description"] for row in await list_tasks(database)}


async def test_one_that_cannot_be_stored_leaves_the_others_as_they_are(database: Database) -> None:
    await describe_tasks(
        database,
        [
            described("plain", doc="Sends."),
            described("half", doc="\ud800"),
            described("odd", options={1, 2}, parameters=object()),
            described("long", doc="x" * TASK_DESCRIPTION_BYTES_MAX),
            described("n" * (KEY_CHARS_MAX + 1)),
            described("nul\x00"),
            described(""),
        ],
    )
    found = await known(database)
    assert found.keys() == {"plain", "half", "odd", "long"}
    assert found["plain"] == '{"doc":"Sends."}'
    assert {found[name] for name in ("half", "odd", "long")} == {"{}"}


async def test_a_task_described_anew_is_as_it_was_said_last(database: Database) -> None:
    await describe_tasks(database, [described("send", doc="old")])
    await describe_tasks(database, [described("send", doc="new")])
    assert await known(database) == {"send": '{"doc":"new"}'}


async def test_one_that_no_node_has_had_for_long_is_forgotten(database: Database) -> None:
    await describe_tasks(database, [described("gone"), described("here")])
    await sql(
        database,
        "UPDATE windlass.task SET described_at = now() - interval '31 days' WHERE name = 'gone'",
    )
    assert await forget_tasks(database) == 1
    assert (await known(database)).keys() == {"here"}
