"""The cluster of tests/faults, on the session's servers."""

from __future__ import annotations

from tests.faults.conftest import cluster

__all__ = ["cluster"]
