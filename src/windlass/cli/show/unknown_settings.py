"""WINDLASS_… variables that mean nothing to us: said, because one may be mistyped."""

from __future__ import annotations

from windlass.cli.show.output import say
from windlass.config import Loaded


def say_unknown(loaded: Loaded) -> None:
    """To whoever typed the command."""
    for strange in loaded.unknown:
        say(f"note: {strange.source} is no setting and is ignored; expected {strange.allowed}")
