"""`${schedule.instant}`: how what a schedule makes knows which instant it stands for.

It may stand in any text of a schedule's job or workflow input, and is filled in when that is made:
a report that is made up for later is the report of its own day.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

INSTANT: Final = "${schedule.instant}"
_WORD: Final = re.compile(r"\$\{schedule\.[^}\"]*\}?")


def fill(text: str, instant: datetime) -> str:
    """The text of a JSON document with the instant for its placeholders."""
    if INSTANT not in text:
        return text
    return text.replace(INSTANT, instant.isoformat().replace("+00:00", "Z"))


def strange_word(text: str) -> str | None:
    """A word that looks like one of a schedule's and is none; None: there is none."""
    return next((word for word in _WORD.findall(text) if word != INSTANT), None)
