"""The key of `windlass up`: made at the first start, kept in the data folder.

Whoever has the folder has the secrets. A copy of the database alone, a dump for example, has not.
"""

from __future__ import annotations

import base64
import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from windlass.config import Settings
from windlass.config.secret_key import FILE, KEY_BYTES

NAME: Final = "secret.key"


def with_key(settings: Settings, data: Path) -> Settings:
    """The settings with a key: the one they have, or that of the folder, which is made if need be.

    The caller holds the folder's lock.
    """
    if settings.secret_key is not None:
        return settings
    path = data / NAME
    if not path.exists():
        _make(path)
    return replace(settings, secret_key=FILE + str(path))


def _make(path: Path) -> None:
    """Whole or not at all: half a key would be taken for a lost one."""
    begun = path.with_suffix(".new")
    begun.unlink(missing_ok=True)
    handle = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(base64.b64encode(os.urandom(KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    begun.replace(path)
