"""`python -m windlass` is the command `windlass`."""

from __future__ import annotations

from windlass.cli import main

main()
