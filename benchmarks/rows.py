"""The row everybody carries: a JSON payload of exactly `PAYLOAD_BYTES`. And what all tasks do.

A task does nothing, or writes 16 bytes to nowhere: the least that is seen from outside.
"""

from __future__ import annotations

import os
from typing import Final, Literal

from benchmarks.limits import PAYLOAD_BYTES

_FRAME = '{"note":""}'

PAYLOAD = {"note": "w" * (PAYLOAD_BYTES - len(_FRAME))}
PAYLOAD_TEXT = f'{{"note":"{PAYLOAD["note"]}"}}'
assert len(PAYLOAD_TEXT) == PAYLOAD_BYTES

TaskName = Literal["noop", "write"]
_SIXTEEN_BYTES: Final = b"0123456789abcdef"
_NOWHERE: Final = os.open(os.devnull, os.O_WRONLY)


def write_16_bytes() -> None:
    os.write(_NOWHERE, _SIXTEEN_BYTES)
