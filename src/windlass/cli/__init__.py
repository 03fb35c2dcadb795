"""The command line: noun, then verb.

Owns: what is typed, what is printed, and the exit codes; and it is where the parts are put
together (`up`, `node`).
Promises: `windlass --help` answers at once, because nothing is imported before it is needed.
Never: reaches a job by any way but the HTTP API, except in the commands that take a database.
"""

from __future__ import annotations

import sys


def main() -> None:
    from windlass.cli.launch import launch

    sys.exit(launch(sys.argv[1:]))
