"""Answers without the secrets that were sent: some receivers answer with what they got.

A secret may come back as it was, or written another way: escaped as in JSON, HTML or an address, as
Base64 (also in the middle of a longer text), or, where it was sent as Base64, as what that stands
for. Each is looked for; and where a text shows a secret only after its escapes are undone one by
one, all of it is left out.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, unquote

REDACTED: Final = "[redacted]"
# Shorter ones are found in texts where they are not meant, and are guessed at once.
CONCEALED_CHARS_MIN: Final = 4
_URL_SAFE: Final = str.maketrans("+/", "-_")
_SCHEME: Final = re.compile(r"(?:Bearer|Basic) ", re.IGNORECASE)
_SIGNATURES: Final = re.compile(r"v1a?,(\S+)")
_ESCAPE: Final = re.compile(
    r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|&#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}));"
)


def concealed(text: str, told: Collection[str]) -> str:
    """`text` without the secrets in the header values `told`."""
    if not text:
        return text
    found = {one for value in told for one in _written(value) if one in text}
    if found:
        # The longest first, whosever it is: one secret may be the beginning of another.
        longest = sorted(found, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest)), REDACTED, text)
    return REDACTED if _shows_decoded(text, told) else text


def concealed_bytes(body: bytes, told: Collection[str]) -> bytes:
    """The same of a body; bytes that are no text stay as they are."""
    if not body:
        return body
    before = body.decode("utf-8", "surrogateescape")
    after = concealed(before, told)
    return body if after is before or after == before else after.encode("utf-8", "surrogateescape")


def _shows_decoded(text: str, told: Collection[str]) -> bool:
    if "\\" not in text and "%" not in text and "&#" not in text:
        return False
    decoded = _ESCAPE.sub(_character, unquote(text))
    bare = decoded.replace("\\", "")  # of what stands before a quote or a slash
    return any(
        one in decoded or one in bare or _without_backslash(one) in bare
        for value in told
        for one in _secrets(value)
    )


def _without_backslash(secret: str) -> str:
    """Or the secret itself, if too little were left to be told from other text."""
    left = secret.replace("\\", "")
    return left if len(left) >= CONCEALED_CHARS_MIN else secret


def _character(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    code = int(digits, 16) if digits else int(found[4])
    return chr(code) if code < 0x110000 else ""


@lru_cache(maxsize=1_000)
def _written(value: str) -> tuple[str, ...]:
    """All that stands for the secrets in a header's value, the longest first."""
    made = {way for secret in _secrets(value) for way in _ways(secret)}
    return tuple(sorted((one for one in made if len(one) >= CONCEALED_CHARS_MIN), key=len)[::-1])


@lru_cache(maxsize=1_000)
def _secrets(value: str) -> tuple[str, ...]:
    bare = _SCHEME.sub("", value, count=1) if _SCHEME.match(value) else value
    found = [bare, *_SIGNATURES.findall(value)]
    try:
        plain = base64.b64decode(bare, validate=True).decode()
        if plain.isprintable():
            found += [plain, plain.partition(":")[2]]
    except (binascii.Error, ValueError):
        pass
    return tuple(one for one in found if len(one) >= CONCEALED_CHARS_MIN)


def _ways(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogateescape")
    yield secret
    yield raw.hex()
    yield raw.hex().upper()
    yield from _in_base64(raw)
    if secret.isascii() and secret.isalnum():
        return  # nothing in it is ever escaped
    for is_ascii in (True, False):
        inside = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
        yield inside
        yield inside.replace("/", "\\/")
    yield html.escape(secret)
    yield html.escape(secret, quote=False)
    for way in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield way
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), way)
    try:
        yield secret.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeError:
        pass


def _in_base64(raw: bytes) -> Iterator[str]:
    """The whole of it, and what is the same wherever in a longer text it begins."""
    whole = base64.b64encode(raw).decode()
    yield whole
    yield whole.translate(_URL_SAFE)
    for before in range(3):
        text = base64.b64encode(b"\0" * before + raw).decode()
        first = -(-before * 8 // 6)
        last = (before + len(raw)) * 8 // 6
        yield text[first:last]
        yield text[first:last].translate(_URL_SAFE)
