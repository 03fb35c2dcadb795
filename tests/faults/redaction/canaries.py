"""Canaries: secrets that are like no other text, planted where secrets enter, and looked for
wherever something is written or said.

A canary is found as it is, in hex, in Base64 wherever in a longer text it begins, and quoted as in
an address or in JSON.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote


@dataclass(slots=True)
class Canaries:
    """What was planted, by what it is."""

    planted: dict[str, str] = field(default_factory=dict)

    def new(self, what: str) -> str:
        return self.add(what, f"cnry{secrets.token_hex(12)}")

    def add(self, what: str, secret: str) -> str:
        """One that somebody else has made: a token, a key."""
        assert len(secret) >= 12, f"{what}: too short to be told from other text"
        assert what not in self.planted
        self.planted[what] = secret
        return secret


@dataclass(slots=True)
class Places:
    """What was written or said, by where."""

    texts: dict[str, list[bytes]] = field(default_factory=dict)

    def add(self, where: str, text: bytes | str) -> None:
        self.texts.setdefault(where, []).append(text.encode() if isinstance(text, str) else text)


def found(canaries: Canaries, places: Places) -> dict[tuple[str, str], str]:
    """Every canary with the place where it was seen, and how it looked there."""
    looks = {what: list(_looks(secret)) for what, secret in canaries.planted.items()}
    seen = {}
    for where, texts in places.texts.items():
        whole = b"\n\n".join(texts)
        for what, forms in looks.items():
            for form in forms:
                at = whole.find(form)
                if at >= 0:
                    seen[what, where] = whole[max(0, at - 60) : at + 80].decode("utf-8", "replace")
                    break
    return seen


def _looks(secret: str) -> Iterable[bytes]:
    raw = secret.encode()
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for shown in (quote(secret, safe=""), json.dumps(secret)[1:-1]):
        if shown != secret:
            yield shown.encode()
    for before in range(3):
        # What of Base64 depends on this text alone, wherever in a longer one it begins.
        text = base64.b64encode(b"\0" * before + raw)
        whole = text[4 if before else 0 : len(text) // 4 * 4 - 4]
        yield whole
        yield whole.replace(b"+", b"-").replace(b"/", b"_")
