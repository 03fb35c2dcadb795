"""`windlass schedule pause` and `resume`: by name, or many at once by what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import segment
from windlass.cli.http.each import for_each
from windlass.cli.options import SERVED, Server
from windlass.cli.show.output import show_line

Names = Annotated[str, Parameter(metavar="NAME", help="Names of schedules, or their ids.")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSelectionOptions:
    """Schedules by what they have in common; all together must hold."""

    prefix: Annotated[str | None, Parameter(metavar="TEXT", help="Whose name begins so.")] = None
    tag: Annotated[
        tuple[str, ...], Parameter(metavar="TEXT", help="That carry this tag; may be repeated.")
    ] = ()
    source: Annotated[
        Literal["api", "app", "import"] | None, Parameter(help="That come from there.")
    ] = None
    workflow: Annotated[str | None, Parameter(metavar="NAME", help="That start this workflow.")] = (
        None
    )
    queue: Annotated[str | None, Parameter(metavar="NAME", help="Whose jobs go there.")] = None
    everything: Annotated[bool, Parameter(name="--all", help="All there are.")] = False

    def fields(self) -> dict[str, Any]:
        given = {
            "prefix": self.prefix,
            "tags": list(self.tag) or None,
            "source": self.source,
            "workflow": self.workflow,
            "queue": self.queue,
        }
        return {name: value for name, value in given.items() if value is not None}


NONE = ScheduleSelectionOptions()


def pause(
    *names: Names,
    which: ScheduleSelectionOptions = NONE,
    note: Annotated[str | None, Parameter(metavar="TEXT", help="Why, for others to read.")] = None,
    server: Server = SERVED,
) -> int:
    """Pause schedules by name, or many by prefix, tag, source, workflow or queue."""
    said = {} if note is None else {"note": note}
    return _each_or_many("pause", "paused", names, which, said, server)


def resume(*names: Names, which: ScheduleSelectionOptions = NONE, server: Server = SERVED) -> int:
    """Resume schedules; what fell due meanwhile is skipped, and the ledger says so."""
    return _each_or_many("resume", "resumed", names, which, {}, server)


def _each_or_many(
    verb: str,
    done: str,
    names: tuple[str, ...],
    which: ScheduleSelectionOptions,
    said: dict[str, Any],
    server: Server,
) -> int:
    if names and which != NONE:
        raise BadUsage("give names, or say what they have in common; not both")
    with server.client() as client:
        if names:
            return for_each(
                names,
                lambda name: client.post(f"/v1/schedules/{segment(name)}/{verb}", said or None),
                lambda name, _: f"{name} {done}",
            )
        if which == NONE:
            raise BadUsage("say which: names, --prefix, --tag, --workflow, --queue or --all")
        found = client.post(f"/v1/schedules/{verb}", {"filter": which.fields(), **said}).value
    for name in found["names"]:
        show_line(f"{name} {done}")
    if not found["names"]:
        show_line(f"none was {done}: there is no such schedule that could be")
    return Exit.OK
