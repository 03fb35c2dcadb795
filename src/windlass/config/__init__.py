"""Settings: `windlass.toml`, then `WINDLASS_…` variables, then flags; the last one wins.

Owns: every name a setting may have, its default, and what it may hold.
Promises: all problems are reported at once, each with its value, its source and what is allowed;
no secret is shown by an error or a repr.
Never: reads the process environment or the current folder by itself; the caller hands them in.
"""

from __future__ import annotations

from windlass.config.load import Loaded, load_settings
from windlass.config.problems import Problem, SettingsProblems
from windlass.config.redaction import shown, shown_address
from windlass.config.settings import Settings

__all__ = [
    "Loaded",
    "Problem",
    "Settings",
    "SettingsProblems",
    "load_settings",
    "shown",
    "shown_address",
]
