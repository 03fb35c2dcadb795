"""Every command of the first level: its name, where it lives, and what it does in one line.

The front page, which `windlass --help` prints, and the parser are both made from this table; a
command is imported when it is asked for and not before. The page is written without the parser,
which takes longer to import than the page takes to read.
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


def _command(name: str, does: str, module: str | None = None, app: str = "app") -> Command:
    return Command(name=name, path=f"windlass.cli.{module or f'verbs.{name}'}:{app}", does=does)


GROUPS: Final[dict[str, tuple[Command, ...]]] = {
    "Run it": (
        _command("up", "Start everything here: PostgreSQL, Valkey, a node and the API."),
        _command("node", "Run a node on your own PostgreSQL and Redis; ls and get show nodes."),
        _command("migrate", "Bring a database to this version's tables."),
        _command("config", "Show the settings and where each one comes from."),
    ),
    "Work with it": (
        _command(
            "job",
            "Submit jobs, watch them, ask why they wait, cancel or retry them.",
            "verbs.job.command",
        ),
        _command("task", "Look up the Python functions that nodes have; run one by hand."),
        _command(
            "workflow", "Check, publish, compare and run workflows.", "verbs.workflow.command"
        ),
        _command("execution", "Watch workflows run; signal, pause, cancel or rerun them."),
        _command(
            "schedule",
            "Fire jobs and workflows by rules in time; see what became of it.",
            "verbs.schedule.command",
        ),
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
    "Say who may": (
        _command(
            *("login", "Log in with name and password, for the commands that follow."),
            *("verbs.identity.login", "login"),
        ),
        _command(
            *("logout", "End the session of `windlass login`, and forget it."),
            *("verbs.identity.login", "logout"),
        ),
        _command("password", "Choose another password.", "verbs.identity.login", "choice"),
        _command(
            "whoami", "Say who you are to the server and what you may do.", "verbs.identity.whoami"
        ),
        _command("user", "Add people, give them roles, reset passwords.", "verbs.identity.user"),
        _command(
            *("key", "Make API keys with a role or scopes; rotate and revoke them."),
            "verbs.identity.key",
        ),
        _command("session", "See where you are logged in; end sessions.", "verbs.identity.session"),
    ),
    "Look after it": (
        _command("secret", "Keep signing keys and credentials, encrypted; rotate them."),
        _command("audit", "See who did what, from where; export it."),
        _command("operation", "Follow changes of nodes, and verbs on many jobs; call them back."),
        _command("health", "Is the server well?"),
        _command("stats", "Counters of jobs by queue and state."),
        _command("sweep", "Remove from Redis what dead nodes left there."),
        _command("backup", "Write everything into one file, while it works.", "verbs.backup.take"),
        _command(
            "restore",
            "Put a backup into a new folder, or prove that one is good.",
            "verbs.backup.restore",
        ),
        _command("doctor", "Check the whole database against its guarantees."),
        _command("completion", "Write a script that completes commands in bash, zsh or fish."),
        _command("bench", "Measure this installation beside the bare speed of its servers."),
    ),
}
COMMANDS: Final[dict[str, Command]] = {
    command.name: command for group in GROUPS.values() for command in group
}


_HEAD: Final = """\
Windlass runs work that must not be lost.

Usage: windlass COMMAND …
"""
_FOOT: Final = """\
Options
  --url URL    Address of the server; else WINDLASS_URL, else http://127.0.0.1:5777.
  --token KEY  API key; else WINDLASS_TOKEN, else the session of `windlass login`,
               else the key of a `windlass up` of this user.
  --version    Print the version.
  --help       Print this page; after a command, that command's page.

Start here
  windlass up                        and in another terminal:
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
