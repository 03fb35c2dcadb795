"""Redaction: answers without the secrets that were sent, which some receivers echo.

A secret may come back as it was, or written another way: escaped as in JSON, HTML or an address, as
hex or Base64 (also in the middle of a longer text), or, where it was sent as Base64, as what that
stands for. Each is looked for and left out. Where a text shows a secret only after something in it
is decoded (redact_decode.py), all of it is left out.

Every answer is searched, and nearly all have nothing to hide: so a text is searched for needles
first, of which there is one in whatever is to be left out.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Final
from urllib.parse import quote, quote_plus

from windlass.limits import REDACTED_CHARS_MIN
from windlass.strategies.http.redact_decode import (
    LINE_CHARS,
    decoded,
    folded,
    is_escaped,
    longest_run,
    look_of,
    wide_texts,
)

REDACTED: Final = "[redacted]"
_URL_SAFE: Final = str.maketrans("+/", "-_")
_SCHEME: Final = re.compile(r"(?:Bearer|Basic) ", re.IGNORECASE)
_SIGNATURES: Final = re.compile(r"v1a?,(\S+)")
# From here on it takes longer to search for needles than to see that there can be none.
_LONG_CHARS: Final = 8_000
_PERCENT: Final = re.compile("%[0-9A-F]{2}")


def redact(text: str, sent_secrets: Collection[str]) -> str:
    """`text` without the secrets in the header values `sent_secrets`."""
    if not text or not sent_secrets:
        return text
    sought = tuple(sent_secrets)
    needles, folded_needles, chars_min = _needles_of(sought)
    if not needles:
        return text

    def shows(plain: str) -> bool:
        return any(map(plain.__contains__, needles))

    def shows_folded(plain: str) -> bool:
        return any(map(folded(plain).__contains__, folded_needles))

    look = look_of(text)
    has_runs = len(text) < _LONG_CHARS or b"b" * _run_chars(sought) in look
    if has_runs and shows(text):
        found = {one for value in sent_secrets for one in _written(value) if one in text}
        # The longest first, whosever it is: one secret may be the beginning of another.
        longest = sorted(found, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest)), REDACTED, text)
        look = look_of(text)
    if is_escaped(text) and shows_folded(text):
        return REDACTED
    plains = decoded(text, look, chars_min, has_runs=has_runs)
    return REDACTED if any(shows(one) or shows_folded(one) for one in plains) else text


def redact_bytes(body: bytes, sent_secrets: Collection[str]) -> bytes:
    """The same of a body; bytes that are no text stay as they are."""
    if not body:
        return body
    if any(redact(text, sent_secrets) != text for text in wide_texts(body)):
        return REDACTED.encode()
    before = body.decode("utf-8", "surrogateescape")
    after = redact(before, sent_secrets)
    return body if after is before or after == before else after.encode("utf-8", "surrogateescape")


@lru_cache(maxsize=1_000)
def _needles_of(sent_secrets: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Of all header values: the needles, the needles of folded texts, and how many characters the
    shortest secret has.
    """
    made = [_needles(value) for value in sent_secrets]
    return (
        tuple({one for needles, _, _ in made for one in needles}),
        tuple({one for _, needles, _ in made for one in needles}),
        min((chars for _, _, chars in made if chars), default=0),
    )


@lru_cache(maxsize=1_000)
def _run_chars(sent_secrets: tuple[str, ...]) -> int:
    """So many characters of Base64 in a row are in every needle, and in every full line of Base64:
    where a text has fewer, it holds none of them.
    """
    return min(LINE_CHARS, *(longest_run(one) for one in _needles_of(sent_secrets)[0]))


@lru_cache(maxsize=1_000)
def _needles(value: str) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """A secret that holds another one is found by that: so is each way to write it."""
    secrets = set(_secrets(value))
    least = [one for one in secrets if not any(other in one for other in secrets - {one})]
    needles = {way for secret in least for way in _ways(secret)}
    # None of those of which too little were left to be told from other text.
    bare = {one for one in map(folded, needles) if len(one) >= REDACTED_CHARS_MIN}
    return tuple(needles), tuple(bare), min(map(len, least), default=0)


@lru_cache(maxsize=1_000)
def _written(value: str) -> tuple[str, ...]:
    """All that stands for the secrets in a header's value."""
    secrets = _secrets(value)
    whole = {base64.b64encode(_raw(secret)).decode() for secret in secrets}
    ways = {way for secret in secrets for way in _ways(secret)}
    return tuple(ways | whole | {one.translate(_URL_SAFE) for one in whole})


@lru_cache(maxsize=1_000)
def _secrets(value: str) -> tuple[str, ...]:
    bare = _SCHEME.sub("", value, count=1) if _SCHEME.match(value) else value
    if len(bare) < REDACTED_CHARS_MIN:
        bare = value  # with its scheme it is long enough to be found
    # A receiver does not see the blanks around a header's value.
    found = [bare, bare.strip(" \t"), *_SIGNATURES.findall(value)]
    try:
        plain = base64.b64decode(bare, validate=True).decode()
        found += [plain, plain.partition(":")[2]]
    except (binascii.Error, ValueError):
        pass
    return tuple(one for one in found if len(one) >= REDACTED_CHARS_MIN)


def _ways(secret: str) -> Iterator[str]:
    """How it may be written; none has fewer characters than the secret."""
    raw = _raw(secret)
    yield secret
    yield raw.hex()
    yield raw.hex().upper()
    yield from _in_base64(raw)
    if secret.isascii() and secret.isalnum():
        return  # nothing in it is ever escaped
    for write in (encode_basestring_ascii, encode_basestring):
        inside = write(secret)[1:-1]
        yield inside
        yield inside.replace("/", "\\/")
    yield html.escape(secret)
    yield html.escape(secret, quote=False)
    for way in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield way
        yield _PERCENT.sub(lambda found: found[0].lower(), way)
    # Bytes of UTF-8 that are read as Latin-1, and those of Latin-1 that are no UTF-8.
    yield raw.decode("latin-1")
    try:
        yield secret.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeError:
        pass


def _in_base64(raw: bytes) -> Iterator[str]:
    """What is the same wherever in a longer text it begins."""
    for before in range(3):
        text = base64.b64encode(b"\0" * before + raw).decode()
        first = -(-before * 8 // 6)
        last = (before + len(raw)) * 8 // 6
        yield text[first:last]
        yield text[first:last].translate(_URL_SAFE)


def _raw(secret: str) -> bytes:
    return secret.encode("utf-8", "surrogateescape")
