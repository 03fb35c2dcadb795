"""Passwords that cost little, where what they cost is not looked at."""

from __future__ import annotations

import pytest

from windlass.engine.identity import passwords


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "PASSWORD_MEMORY_KIB", 8)
    monkeypatch.setattr(passwords, "PASSWORD_ROUNDS", 1)
