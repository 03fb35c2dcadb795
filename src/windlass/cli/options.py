"""The options that many commands share, written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter

from windlass.cli.http.client import Client

DEFAULT_URL: Final = "http://127.0.0.1:5777"
SERVER: Final = Group("Server and output", sort_key=100)

Format = Literal["table", "json", "jsonl", "id"]
Limit = Annotated[int, Parameter(metavar="N", show_default=True, help="Show at most so many.")]
All = Annotated[bool, Parameter(name="--all", help="Show every one, however many there are.")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Which server, and who asks."""

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
    # None: the server runs without authentication.
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


# Defaults: cyclopts fills in what was typed or set in the environment.
SERVED: Final = Server()
READ: Final = Reading()
