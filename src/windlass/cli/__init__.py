"""The command line (CLI): `windlass NOUN VERB`.

Owns: what is typed, what is printed, and the exit codes.
Promises: `windlass --help` answers at once, because nothing is imported before it is needed; no
traceback for anything a user can cause; `-o json` is the API object unchanged.
Never: reaches a job by any way but the HTTP API, except in the commands that take a database
(`migrate`, `doctor`, `backup`, `restore`, `key reset`, `secret reencrypt`) or Redis (`sweep`). `up`
and `node` start what `compose` puts together.

    launch.py     from what was typed to an exit code; errors, Ctrl-C, closed pipes
    commands.py   the table of commands, and the front page; app.py: the parser made from it
    node_process.py   into a process that is a node: without the parser, by few imports
    actor.py      who works beside the database, for the audit log
    options.py    options that many commands share: --url, --token, -o
    values.py     values as people type them: JSON, durations, files
    exits.py      exit codes
    limits.py     the command line's own bounds
    verbs/        the commands, a file a noun
    show/         what people see: tables, pages, trees, progress
    http/         talking to a server: client, lists, waiting, event stream
    imports/      `schedule import`: crontabs and Celery's beat
    listen/       `listen`: a webhook receiver for developers
"""

from __future__ import annotations

import sys


def main() -> None:
    from windlass.cli.launch import launch

    sys.exit(launch(sys.argv[1:]))
