"""`--reload`: a node that ends when its App's files change, so that the next has the new code.

    parent   servers, the listening socket, and the nodes as its children (more_nodes)
    child    loads the App -> node -> a file changes -> drains as on SIGTERM -> ends with RELOAD
                  '- it is broken: said in one line; waits for a change, and ends with RELOAD

Code is new in a new process only; here modules are never imported twice. What is watched is what
was loaded: by polling, since a look at some hundred files takes a millisecond.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from windlass.compose.terminal import shown_path
from windlass.errors import AppNotLoaded
from windlass.strategies.python.apps import LoadedApp, is_own, load_apps, merged_tasks

POLL_SECONDS: Final = 0.5

_Seen = dict[Path, tuple[int, int] | None]  # when it was changed, its size; None: it is not there


class Watch:
    """The files of the App, from what is loaded, and what has become of them."""

    def __init__(self, paths: str) -> None:
        self._paths = paths
        self._seen: _Seen = {}

    def load(self) -> list[LoadedApp]:
        """Raises AppNotLoaded; then `changed` looks at the files that were in the way as well."""
        # Before: a file that is written while it is imported counts as changed afterwards.
        self._look(self._places())
        try:
            apps = load_apps(self._paths)
            merged_tasks(apps)
        except AppNotLoaded as trouble:
            self._look(_files_of(trouble.__cause__))
            raise
        finally:
            self._look(_loaded())
        return apps

    async def changed(self) -> str:
        """Until one of them changes; returns which."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            for path, seen in self._seen.items():
                if _state(path) != seen:
                    return shown_path(path)
            self._look(_loaded())  # a task may have imported more by now

    def _look(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if path not in self._seen:
                self._seen[path] = _state(path)

    def _places(self) -> list[Path]:
        """Where the modules would be that were asked for: they may be made, or mended, only now."""
        modules = [path.partition(":")[0].replace(".", "/") for path in self._paths.split(",")]
        return [
            Path.cwd() / name
            for module in modules
            for name in (f"{module}.py", f"{module}/__init__.py")
        ]


def _loaded() -> list[Path]:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return [Path(file) for file in files if isinstance(file, str) and is_own(file)]


def _files_of(trouble: BaseException | None) -> list[Path]:
    """Those of a traceback: a module that raised is in no table of what is loaded."""
    files = [trouble.filename] if isinstance(trouble, SyntaxError) and trouble.filename else []
    if trouble is not None:
        frames = traceback.walk_tb(trouble.__traceback__)
        files += [frame.f_code.co_filename for frame, _ in frames]
    return [Path(file) for file in files if is_own(file)]


def _state(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size
