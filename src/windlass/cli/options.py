"""The options that many commands share, written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.http.client import Client, Query
from windlass.cli.values import instant_or_none

DEFAULT_URL: Final = "http://127.0.0.1:5777"
SERVER: Final = Group("Server and output", sort_key=100)

TIME: Final = Group("Window of time", sort_key=90)
SINCE: Final = "Only what is from then on: 1h (ago), 14:05, 2030-01-31, 2030-01-31T12:00:00Z."
UNTIL: Final = "Only what is from before then; UTC, as everything that is shown."

Format = Literal["table", "json", "jsonl", "id"]
Limit = Annotated[int, Parameter(metavar="N", show_default=True, help="Show at most so many.")]
All = Annotated[bool, Parameter(name="--all", help="Show every one, however many there are.")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Which server."""

    url: Annotated[
        str,
        Parameter(
            env_var="WINDLASS_URL",
            group=SERVER,
            metavar="URL",
            show_default=True,
            help="Address of the server.",
        ),
    ] = DEFAULT_URL


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Server(Address):
    """Which server, and who asks."""

    # None: whatever is found (cli/http/stored_login.py says where); empty: nobody.
    token: Annotated[
        str | None,
        Parameter(env_var="WINDLASS_TOKEN", group=SERVER, metavar="KEY", help="API key, wlk_…"),
    ] = None

    def client(self) -> Client:
        return Client(self.url, self.token)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Server):
    """The same for commands that show something."""

    output: Annotated[
        Format,
        Parameter(
            name=("--output", "-o"),
            group=SERVER,
            show_default=True,
            help="json is the server's answer unchanged; jsonl and id give one line each.",
        ),
    ] = "table"


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time that a list is of. None: there is no bound."""

    since: Annotated[str | None, Parameter(group=TIME, metavar="WHEN", help=SINCE)] = None
    until: Annotated[str | None, Parameter(group=TIME, metavar="WHEN", help=UNTIL)] = None

    def query(self) -> Query:
        """For a list that is in the order in which things were made or happened."""
        return within("created", "--since", self.since, "--until", self.until)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class LifeWindow(Window):
    """The same for what is made and ends."""

    finished_after: Annotated[
        str | None, Parameter(group=TIME, metavar="WHEN", help="Only what ended then or later.")
    ] = None
    finished_before: Annotated[
        str | None, Parameter(group=TIME, metavar="WHEN", help="Only what ended before then.")
    ] = None

    def query(self) -> Query:
        after, before = self.finished_after, self.finished_before
        made = Window.query(self)
        return {
            **made,
            **within("finished", "--finished-after", after, "--finished-before", before),
        }


def within(
    what: str, after_flag: str, after: str | None, before_flag: str, before: str | None
) -> Query:
    """The bounds as the API names them. Raises BadUsage for an empty stretch."""
    first, last = instant_or_none(after_flag, after), instant_or_none(before_flag, before)
    if first is not None and last is not None and last <= first:
        raise BadUsage(
            f"{after_flag} must be earlier than {before_flag}; they are {first} and {last}"
        )
    return {f"{what}_after": first, f"{what}_before": last}


# Defaults: cyclopts fills in what was typed or set in the environment.
ADDRESSED: Final = Address()
SERVED: Final = Server()
READ: Final = Reading()
ANY_TIME: Final = Window()
ANY_LIFE: Final = LifeWindow()
