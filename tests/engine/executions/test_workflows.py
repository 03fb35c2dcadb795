"""Workflows in the database: what publishing promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.engine.hands import patiently
from tests.model.workflow.definitions import document, read, step
from windlass.engine.executions.workflows import (
    DraftChanged,
    Published,
    delete_workflow,
    list_versions,
    publish,
    put_draft,
    read_draft,
    read_version,
    read_workflow,
)
from windlass.errors import NotFound
from windlass.model.json import strict as strict_json
from windlass.store.database import Database


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, application="windlass test workflows")
    await opened.open()
    yield opened
    await opened.close()


async def test_two_who_publish_the_same_new_name_at_once_make_one_version(
    database: Database,
) -> None:
    definition = read(document(step("a")))
    said = await asyncio.gather(
        *(patiently(lambda: publish(database, definition, "me")) for _ in range(8))
    )
    assert [one.version for one in said] == [1] * 8
    assert sum(one.is_new for one in said) == 1
    assert len(await list_versions(database, "test", 10)) == 1


async def test_a_version_keeps_its_layout_and_the_same_with_another_writes_nothing(
    database: Database,
) -> None:
    await publish(database, read(document(step("a"), layout={"a": 1})), "me")
    said = await publish(database, read(document(step("a"), layout={"a": 2})), "you")
    assert said == Published(version=1, is_new=False)
    found = await read_version(database, "test", 1)
    assert found.published_by == "me"
    assert '"layout":{"a":1}' in (found.definition or "")


async def test_a_draft_that_changed_while_it_was_checked_is_not_published(
    database: Database,
) -> None:
    old = await put_draft(database, "test", strict_json.write(document(step("a"))))
    await put_draft(database, "test", strict_json.write(document(step("b"))))
    with pytest.raises(DraftChanged, match="changed meanwhile") as caught:
        await publish(database, read(document(step("a"))), "me", draft=old.text)
    assert (caught.value.name, caught.value.status) == ("test", 409)
    assert (await read_draft(database, "test")).version == 0
    with pytest.raises(NotFound):
        await read_version(database, "test")


async def test_publishing_again_brings_a_deleted_workflow_back(database: Database) -> None:
    await publish(database, read(document(step("a"))), "me")
    await delete_workflow(database, "test")
    with pytest.raises(NotFound):
        await read_workflow(database, "test")
    said = await publish(database, read(document(step("b"))), "me")
    assert said == Published(version=2, is_new=True)
    assert (await read_workflow(database, "test")).version == 2
