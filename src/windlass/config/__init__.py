"""Settings: `windlass.toml`, then `WINDLASS_…` variables, then flags; the last one wins.

Owns: every name a setting may have, its default, and what it may hold.
Promises: all problems are reported at once, each with its value, its source and what is allowed;
no secret is shown by an error or a repr.
Never: reads the process environment or the current folder by itself; the caller hands them in.

    sources (who said what) -> table (a parser for each name) -> load -> Settings, or all problems

Doors:
  load_settings   from flags, environment and folder to `Loaded`, or SettingsProblems;
                  load.py has `hand_over` and `take_over`, too: all of them to a child process
  settings        `Settings`: what can be set, with its default
  table           the parser of every setting, and the relations between them
  parsers         for the table: numbers, durations, lists; addresses, for database URLs
  sources         TOML, environment and flags, before anything is judged
  secret_key      how the keys that encrypt secrets are written
  hosts           the hosts that a URL of several names
  redaction       `shown`, `shown_address`: settings for people, without their secrets

A new setting is a field in `settings` and a row in `table`.
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
