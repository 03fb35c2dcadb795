"""Strategies that installed distributions bring: entry points of the group `windlass.strategies`.

    [project.entry-points."windlass.strategies"]
    sms = "acme_sms:Sms"                            # kind = module:class

Loading again reads the entry points anew and imports the modules of each plugin afresh, beside the
old ones: what runs meanwhile goes on with the code it began with.
Promises: a plugin that cannot be loaded is an answer with its error, and stands in nobody's way.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Final

import structlog

from windlass.limits import ERROR_TEXT_MAX
from windlass.model.workflow.step_kinds import KINDS
from windlass.strategies.plugins.strategy import PluginStrategy

log = structlog.get_logger()

GROUP: Final = "windlass.strategies"
# windlass.enqueue in SQL has the same.
_KIND: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
RESERVED: Final = frozenset(KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    kind: str
    version: str | None  # of its distribution; None: it has none
    strategy: PluginStrategy | None  # None: it could not be loaded
    error: str | None  # None: it could
    digest: str = ""  # of what it was loaded from


def load_plugins(*, is_again: bool = False) -> dict[str, Plugin]:
    """All that are installed now, by kind. It imports: not for the event loop."""
    importlib.invalidate_caches()
    try:
        entries = list(entry_points(group=GROUP))
    except Exception:
        if is_again:
            raise  # whoever asked is told, and all stays as it is
        log.exception("plugins_not_read")
        return {}
    brought = Counter(entry.name for entry in entries)
    with _fresh_modules(entries) if is_again else contextlib.nullcontext():
        found = {entry.name: _load(entry, brought[entry.name]) for entry in entries}
    for plugin in found.values():
        if plugin.error is not None:
            log.error("plugin_not_loaded", kind=plugin.kind, error=plugin.error)
    return found


def _load(entry: EntryPoint, times_brought: int) -> Plugin:
    version = entry.dist.version if entry.dist is not None else None
    try:
        _check_name(entry.name, times_brought)
        strategy = PluginStrategy(entry.name, entry.load())
        digest = _digest(entry)
    except (Exception, SystemExit) as trouble:  # a module may raise anything while it is imported
        is_ours = type(trouble) is ValueError
        said = str(trouble) if is_ours else f"{type(trouble).__name__}: {trouble}"
        error = f"{entry.value}: {said}"[:ERROR_TEXT_MAX]
        return Plugin(kind=entry.name, version=version, strategy=None, error=error)
    return Plugin(kind=entry.name, version=version, strategy=strategy, error=None, digest=digest)


def _check_name(kind: str, times_brought: int) -> None:
    if kind in RESERVED:
        raise ValueError(f"kind {kind!r} is Windlass' own; the plugin must choose another name")
    if times_brought > 1:
        raise ValueError(f"{times_brought} distributions bring kind {kind!r}; keep one of them")
    if not _KIND.fullmatch(kind):
        raise ValueError(f"kind {kind!r} must be 1 to 64 of a-z, 0-9 and _, beginning with a-z")


@contextlib.contextmanager
def _fresh_modules(entries: Collection[EntryPoint]) -> Iterator[None]:
    """Forget the plugins' modules, so that they are imported again from their files."""
    old = {name: sys.modules.pop(name) for entry in entries for name in _modules_of(entry)}
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        # What a compiled file says of its source's age is in seconds: one of before, or one that
        # is written now, would be taken for a change within the same second. So there is none.
        for module in old.values():
            if compiled := getattr(module, "__cached__", None):
                with contextlib.suppress(OSError):  # somebody else's folder, or not there
                    Path(compiled).unlink()
        yield
    finally:
        sys.dont_write_bytecode = writes_none
        for name, module in old.items():
            sys.modules.setdefault(name, module)  # old code may still import it by name


def _modules_of(entry: EntryPoint) -> list[str]:
    """The loaded modules that are the plugin's own: its package, or its module alone."""
    module = entry.value.partition(":")[0].strip()
    root = module.partition(".")[0]
    package: ModuleType | None = sys.modules.get(root)
    is_shared = root == "windlass" or package is None or package.__file__ is None
    start = module if is_shared else root
    return [name for name in sys.modules if name == start or name.startswith(start + ".")]


def _digest(entry: EntryPoint) -> str:
    files = {sys.modules[name].__file__ for name in _modules_of(entry)}
    seen = hashlib.sha256(entry.value.encode())
    for path in sorted(file for file in files if file is not None):
        with contextlib.suppress(OSError):  # it lies in an archive, or is gone again
            seen.update(Path(path).read_bytes())
    return seen.hexdigest()
