"""The row everybody carries: a JSON payload of exactly `PAYLOAD_BYTES`."""

from __future__ import annotations

from benchmarks.limits import PAYLOAD_BYTES

_FRAME = '{"note":""}'

PAYLOAD = {"note": "w" * (PAYLOAD_BYTES - len(_FRAME))}
PAYLOAD_TEXT = f'{{"note":"{PAYLOAD["note"]}"}}'
assert len(PAYLOAD_TEXT) == PAYLOAD_BYTES
