"""Make the server have what the code says: workflows, durable functions, schedules.

Promises: what is so already is left alone, so a restart publishes nothing and an edit of code
publishes one version. Any number of nodes may do it at once: the same definition is the same
version, and a schedule is put against the edition that was read, again after somebody was faster.
Never: deletes. A schedule that is no longer in the code is paused with a note; when it comes back
it goes on. One that a person paused stays paused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from windlass.duration import parse_seconds
from windlass.errors import Conflict, NotFound
from windlass.model.json.canonical import canonical_json, hash_of
from windlass.model.schedule.read import RULE_FIELDS
from windlass.sdk.tasks.cron import tag_of

if TYPE_CHECKING:
    from windlass.sdk.http.async_client import AsyncClient
    from windlass.sdk.tasks.app import App

Thing: TypeAlias = Mapping[str, Any]

# A schedule that is not there, by its edition.
_NONE: Final[Thing] = {"edition": 0}
# Each loses to a node that has put the same, so nobody needs many.
_TRIES_MAX: Final = 10
_USUAL: Final = {"timezone": "UTC", "overlap": "allow", "misfire": "fire_once"}
_COMPARED: Final = (
    *(*RULE_FIELDS, "job", "workflow", "overlap", "misfire", "catchup", "priority"),
    *("tags", "source"),
)


class NotOurs(Conflict):
    """The name is taken by a schedule that this app did not make."""

    code = "schedule_not_ours"

    def __init__(self, name: str, app: str) -> None:
        self.name, self.app = name, app
        super().__init__(
            f"there is a schedule {name!r} that app {app!r} did not make; give that of the code "
            "another name=, or delete the other one"
        )


@dataclass(slots=True, kw_only=True)
class Published:
    """What was changed, by name; what was so already is nowhere."""

    workflows: list[str] = field(default_factory=list)
    schedules: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)


async def publish(app: App) -> Published:
    """Raises what is wrong with the code before anything is changed, then what the server says."""
    # Workflows first: a schedule may start one.
    documents = [code.definition() for code in (*app.workflows.values(), *app.durables.values())]
    bodies = {name: code.body(app.name) for name, code in app.schedules.items()}
    done = Published()
    for document in documents:
        if await _put_workflow(app.client, document):
            done.workflows.append(document["name"])
    ours = app.client.schedules.list(source="app", tag=tag_of(app.name))
    kept = {one["name"]: one async for one in ours}
    for name, body in bodies.items():
        await _put_schedule(app, name, body, kept.pop(name, _NONE), done)
    await _pause(app, kept.values(), done)
    return done


async def _put_workflow(client: AsyncClient, document: Thing) -> bool:
    try:
        kept: Thing = await client.workflows.get(document["name"])
    except NotFound:
        kept = {}
    if kept.get("hash") == hash_of(canonical_json(document)).hex():
        return False
    await client.workflows.put(document)
    return True


async def _put_schedule(app: App, name: str, body: Thing, kept: Thing, done: Published) -> None:
    for tries in range(1, _TRIES_MAX + 1):
        if _same(kept, body):
            break
        try:
            kept = await app.client.schedules.put(name, body, edition=kept["edition"])
        except Conflict:
            if tries == _TRIES_MAX:
                raise
            kept = await _kept(app, name)
        else:
            done.schedules.append(name)
            break
    if kept.get("paused_at") is not None and kept.get("note") == note_of(app.name):
        await app.client.schedules.resume(name)
        done.resumed.append(name)


async def _kept(app: App, name: str) -> Thing:
    """The one of this name as it is now. Raises NotOurs."""
    try:
        kept = await app.client.schedules.get(name)
    except NotFound:
        return _NONE
    if tag_of(app.name) not in kept["tags"]:
        raise NotOurs(name, app.name)
    return kept


async def _pause(app: App, others: Iterable[Thing], done: Published) -> None:
    for name in [one["name"] for one in others if one["paused_at"] is None]:
        try:
            await app.client.schedules.pause(name, note_of(app.name))
        except NotFound:  # deleted meanwhile, which is as good
            continue
        done.paused.append(name)


def note_of(app: str) -> str:
    """By it a schedule that was paused here is told from one that a person paused."""
    return f"no longer in app {app!r}"


def _same(kept: Thing, body: Thing) -> bool:
    return canonical_json(_comparable(kept)) == canonical_json(_comparable(body))


def _comparable(schedule: Thing) -> dict[str, Any]:
    given = {name: value for name, value in schedule.items() if value is not None}
    made = {name: given.get(name, _USUAL.get(name)) for name in _COMPARED}
    if made["catchup"] is not None:
        made["catchup"] = parse_seconds(made["catchup"])
    return made
