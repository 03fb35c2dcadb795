"""Every command of the first level: its name, where it lives, and what it does in one line.

The front page and the parser are both made from this table; a command is imported when it is
asked for and not before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    name: str
    # `module:attribute` of a cyclopts App with this name, or of a function.
    path: str
    does: str


def _command(name: str, does: str, module: str | None = None) -> Command:
    return Command(name=name, path=f"windlass.cli.{module or f'verbs.{name}'}:app", does=does)


GROUPS: Final[dict[str, tuple[Command, ...]]] = {
    "Run it": (
        _command("up", "Start everything here: PostgreSQL, Valkey, a node and the API."),
        _command("node", "Run a node on your own PostgreSQL and Redis; ls and get show nodes."),
        _command("migrate", "Bring a database to this version's tables."),
        _command("config", "Show the settings and where each one comes from."),
    ),
    "Work with it": (
        _command("job", "Submit jobs, watch them, ask why they wait, cancel or retry them."),
        _command("workflow", "Check, publish, compare and run workflows."),
        _command("execution", "Watch workflows run; signal, pause, cancel or rerun them."),
        _command("schedule", "Fire jobs and workflows by rules in time; see what became of it."),
        _command("approval", "See what is to be decided; approve or reject it."),
        _command("queue", "Show queues, set their limits, pause and resume them."),
        _command("target", "Show whom webhooks call; set limits, reset breakers, disable."),
        _command("dead", "Look through dead letters; replay or discard them."),
        _command("lock", "Take named locks and semaphores; see who holds them."),
        _command("event", "Follow what happens, live."),
        _command(
            "listen", "Receive deliveries here: print, verify and forward them.", "listen.command"
        ),
    ),
    "Look after it": (
        _command("secret", "Keep signing keys and credentials, encrypted; rotate them."),
        _command("operation", "Follow changes of nodes: resize, pause, drain; call them back."),
        _command("health", "Is the server well?"),
        _command("stats", "Counters of jobs by queue and state."),
        _command("sweep", "Remove from Redis what dead nodes left there."),
        _command("doctor", "Check the whole database against its guarantees."),
        _command("bench", "Measure this installation beside the bare limits of its servers."),
    ),
}
COMMANDS: Final[dict[str, Command]] = {
    command.name: command for group in GROUPS.values() for command in group
}
