"""A peer from npm: installed beside its own scripts, on first use, when there is an npm."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks import child
from benchmarks.limits import INSTALL_SECONDS_MAX

# What a server of Node is started with anywhere.
ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType({"NODE_ENV": "production"})


async def is_ready(name: str, folder: Path, tell: Callable[[str], None]) -> bool:
    """Whether the scripts in `folder` can be run; says why not."""
    missing = [program for program in ("node", "npm") if shutil.which(program) is None]
    if missing:
        tell(f"{name} is left out: there is no {' and no '.join(missing)} here")
        return False
    if not _is_installed(folder):
        try:
            await _install(folder)
        except child.ChildFailed as failure:
            tell(f"{name} is left out: it could not be installed: {failure}")
            return False
    return True


def _is_installed(folder: Path) -> bool:
    # npm's own record of what it installed; written last, so that half an installation has none.
    record = folder / "node_modules" / ".package-lock.json"
    lock = folder / "package-lock.json"
    return record.exists() and record.stat().st_mtime >= lock.stat().st_mtime


async def _install(folder: Path) -> None:
    await child.run(
        ["npm", "ci", "--no-audit", "--no-fund"], seconds_max=INSTALL_SECONDS_MAX, cwd=folder
    )
