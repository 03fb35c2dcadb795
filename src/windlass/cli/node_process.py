"""The way into a process that is a node: to its first job by as few imports as there can be.

Owns: `windlass node` as it is mostly typed, with plain options. They are taken here, since the
parser takes longer to import than the node takes to reach its servers. Whatever is not plain (a
verb, `--help`, a mistake) goes the usual way, by verbs/node.py, which has the same options.
Promises: until the node is ready the garbage collector rests. Hundreds of modules are made then,
nothing of which is garbage, and it would walk through all of them again and again
(`compose.start.tune_collector` lets it begin).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

NODE_FLAGS: Final = {
    f"--{name.replace('_', '-')}": name
    for name in (
        *("database_url", "redis_url", "roles", "port", "host", "workers"),
        *("queues", "queues_except", "queue_order", "app"),
    )
}
# structlog would render tracebacks by it; a node has its own way to write them (telemetry.logs).
_UNUSED: Final = "rich"


def plain_flags(words: Sequence[str]) -> dict[str, str] | None:
    """The options of `windlass node --name value …`; None: this takes the parser."""
    flags: dict[str, str] = {}
    rest = iter(words[1:])
    for word in rest:
        flag, equals, value = word.partition("=")
        value = value if equals else next(rest, "")
        name = NODE_FLAGS.get(flag)
        if name is None or name in flags or not value or value.startswith("-"):
            return None
        flags[name] = value
    return flags if words[:1] == ["node"] else None


def run_node(flags: Mapping[str, object]) -> int:
    with few_imports():
        from windlass.compose import foreground
    return foreground.run_node(flags)


def run_up(flags: Mapping[str, object], nodes: int) -> int:
    with few_imports():
        from windlass.compose import foreground
    return foreground.run_up(flags, nodes)


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
