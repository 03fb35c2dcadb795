"""The page that `windlass --help` prints.

Written without the parser, which takes longer to import than this page takes to read.
"""

from __future__ import annotations

from typing import Final

from windlass.cli.commands import COMMANDS, GROUPS

_HEAD: Final = """\
Windlass runs work that must not be lost.

Usage: windlass COMMAND …
"""
_FOOT: Final = """\
Options
  --url URL    Address of the server; else WINDLASS_URL, else http://127.0.0.1:5777.
  --token KEY  API key, printed by the first `windlass up`; else WINDLASS_TOKEN.
  --version    Print the version.
  --help       Print this page; after a command, that command's page.

Start here
  windlass up                        and in another terminal:
  export WINDLASS_TOKEN=wlk_…        the key that `up` printed
  windlass job submit noop --wait

Exit codes: 0 ok, 1 the work failed, 2 usage, 3 not found, 4 not allowed, 5 conflict,
6 refused by a limit, 7 timed out waiting, 8 cancelled, 9 server unreachable.
"""


def front_page() -> str:
    width = max(map(len, COMMANDS))
    groups = (
        "\n".join(
            [title, *(f"  {command.name:<{width}}  {command.does}" for command in commands), ""]
        )
        for title, commands in GROUPS.items()
    )
    return "\n".join([_HEAD, *groups, _FOOT])
