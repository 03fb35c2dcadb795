"""`Idempotency-Key`: the same key and the same request get the same answer; work is made once."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from windlass.api.caller import Caller
from windlass.api.reply import Header
from windlass.engine.request import Accepted, Idempotency
from windlass.limits import KEY_CHARS_MAX

HEADER: Final = "Idempotency-Key"
REPLAYED: Final[Header] = (b"idempotent-replayed", b"true")
_EXISTING: Final[Header] = (b"windlass-existing", b"true")


def idempotency_of(caller: Caller, method: str, path: str, body: bytes) -> Idempotency | None:
    """The caller's promise; None when it made none."""
    key = caller.text(HEADER, KEY_CHARS_MAX)
    if key is None:
        return None
    hashed = sha256(f"{method} {path}\n".encode())
    hashed.update(body)
    return Idempotency(owner=caller.owner, key=key, body_hash=hashed.digest())


def told_headers(accepted: Accepted) -> list[Header]:
    """What the answer says beside the job: that it was answered before, or was there before."""
    headers = [REPLAYED] if accepted.is_replayed else []
    return [*headers, _EXISTING] if accepted.existing else headers
