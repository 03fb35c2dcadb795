"""A signal between nodes: what one coordinator tells others, and what they acknowledged."""

from __future__ import annotations

from typing import Any

import msgspec

Answer = dict[str, Any]


class Signal(msgspec.Struct, frozen=True, kw_only=True, rename={"sender": "from"}):
    """As it travels. The id comes first: fastlane/lua/signal_read.lua finds it there."""

    id: str  # sig_…
    name: str
    payload: dict[str, Any]
    sender: str  # who collects the acknowledgements


class Signalled(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a signal. A target is named in one of the two lists and never in both."""

    id: str
    acknowledged: list[str]
    missing: list[str]
    answers: dict[str, Answer]  # of those that acknowledged
    reasons: dict[str, str]  # why each missing one is
