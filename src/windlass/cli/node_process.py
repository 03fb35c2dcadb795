"""The way into a process that is a node: to its first job by as few imports as there can be.

Owns: `windlass node` and `windlass up` as they are mostly typed, with plain options. They are taken
here, since the parser takes longer to import than the node takes to reach its servers. Whatever is
not plain (a verb, `--help`, a mistake) goes the usual way, by verbs/node.py and verbs/up.py, which
have the same options.
Promises: until the node is ready the garbage collector rests. Hundreds of modules are made then,
nothing of which is garbage, and it would walk through all of them again and again
(`compose.start.tune_collector` lets it begin).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

NODE_FLAGS: Final = {
    f"--{name.replace('_', '-')}": name
    for name in (
        *("database_url", "redis_url", "roles", "port", "host", "workers"),
        *("queues", "queues_except", "queue_order", "app"),
    )
}
UP_FLAGS: Final = {
    f"--{name.replace('_', '-')}": name
    for name in (
        *("port", "host", "data", "workers", "nodes"),
        *("queues", "queues_except", "queue_order", "app"),
    )
}
FLAGS: Final = {"node": NODE_FLAGS, "up": UP_FLAGS}
# How more_nodes types a child.
CHILD: Final = ("node", "--settings", "-")
# Without a value; several of the other kind become one, with commas between.
SWITCH: Final = "--reload"
SEVERAL: Final = "app"
# structlog would render tracebacks by it; a node has its own way to write them (telemetry.logs).
_UNUSED: Final = "rich"


def plain_flags(words: Sequence[str]) -> dict[str, str] | None:
    """The options of `windlass node --name value …`, or of `up`; None: this takes the parser."""
    flags: dict[str, str] = {}
    names = FLAGS.get(words[0])
    if names is None:
        return None
    rest = iter(words[1:])
    for word in rest:
        if word == SWITCH and "reload" not in flags:
            flags["reload"] = "yes"
            continue
        flag, equals, value = word.partition("=")
        value = value if equals else next(rest, "")
        name = names.get(flag)
        if name is None or not value or value.startswith("-"):
            return None
        if name in flags and name != SEVERAL:
            return None
        flags[name] = f"{flags[name]},{value}" if name in flags else value
    has_nodes = flags.get("nodes", "1").isdecimal() and int(flags.get("nodes", "1")) > 0
    return flags if has_nodes else None


def run_plain(command: str, flags: dict[str, str]) -> int:
    is_reloading = flags.pop("reload", "") != ""
    if command == "node":
        return run_node(flags, is_reloading=is_reloading)
    return run_up(flags, int(flags.pop("nodes", "1")), is_reloading=is_reloading)


def run_node(flags: Mapping[str, object], *, is_reloading: bool = False) -> int:
    _say_starting(flags, "node")
    with few_imports():
        from windlass.compose import foreground
    return foreground.run_node(flags, is_reloading=is_reloading)


def run_up(flags: Mapping[str, object], nodes: int, *, is_reloading: bool = False) -> int:
    _say_starting(flags, "up")
    with few_imports():
        from windlass.compose import foreground
    return foreground.run_up(flags, nodes, is_reloading=is_reloading)


def run_child() -> int:
    """A node that another process of ours has begun; its settings are on standard input."""
    with few_imports():
        from windlass.compose import foreground
    return foreground.run_child(sys.stdin.buffer.read())


def _say_starting(flags: Mapping[str, object], command: str) -> None:
    """Before anything heavy is imported: whoever typed it sees at once that it was understood."""
    from windlass.compose.terminal import say_starting, shown_path, shown_server
    from windlass.config import load_settings
    from windlass.extras import require_server
    from windlass.sdk.http.local_key import DATA_FOLDER

    require_server()
    settings = load_settings(flags, os.environ, Path.cwd()).settings
    if command == "up":
        folder = shown_path(settings.data or Path(DATA_FOLDER))
        say_starting(f"PostgreSQL and Valkey in {folder}")
    elif settings.database_url is not None:
        say_starting(f"a node on {shown_server(settings.database_url)}")


@contextmanager
def few_imports() -> Iterator[None]:
    """What libraries would use if it were installed is not, for as long as they are imported.

    To the import system None stands for a module that there is not. An App may import it later.
    """
    gc.disable()
    hidden = [] if _UNUSED in sys.modules else [_UNUSED]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
