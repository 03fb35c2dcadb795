"""The parser of the whole command line; each command is imported when it is asked for."""

from __future__ import annotations

from functools import cache

from cyclopts import App, Group, Parameter

from windlass import __version__
from windlass.cli.commands import GROUPS


@cache
def build() -> App:
    """The one parser of this process: a command belongs to the groups of the first that has it."""
    app = App(
        name="windlass",
        help="Windlass runs work that must not be lost.",
        version=__version__,
        help_format="plaintext",
        # Nothing, no and none are what everybody expects; a default worth reading says so itself.
        default_parameter=Parameter(negative=(), show_default=False),
    )
    for number, (title, commands) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=number)
        for command in commands:
            app.command(command.path, name=command.name, help=command.does, group=group)
    return app
