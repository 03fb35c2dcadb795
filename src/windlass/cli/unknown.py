"""WINDLASS_… variables that mean nothing to us: said, because one may be mistyped."""

from __future__ import annotations

import structlog

from windlass.cli.output import say
from windlass.config import Loaded

log = structlog.get_logger()


def say_unknown(loaded: Loaded) -> None:
    """To whoever typed the command."""
    for strange in loaded.unknown:
        say(f"note: {strange.source} is no setting and is ignored; expected {strange.allowed}")


def log_unknown(loaded: Loaded) -> None:
    """Where a node says everything else; without its value, which may be a secret."""
    for strange in loaded.unknown:
        log.warning("variable_ignored", variable=strange.source, expected=strange.allowed)
