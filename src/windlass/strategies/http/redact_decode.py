"""What a text says when it is decoded: escapes one by one, Base64, lines, and the zeros of UTF-16.

Each step is taken only where a quick look says that there is something to undo: this is run for
every answer, and most have nothing of it. Each takes time in proportion to the text, whatever a
receiver sends. What is made here is searched for secrets, and never kept.
"""

from __future__ import annotations

import html
import re
import sys
from binascii import a2b_base64
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

# JSON within JSON within a form: an answer may quote an answer.
_TIMES_MAX: Final = 3
_ESCAPE: Final = re.compile(
    # Two that make one character, as Java and C# write them, before any of them alone.
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|u\{([0-9a-fA-F]{1,6})\}"
    r"|([0-3][0-7]{2}|[0-7]{1,2})|(/))"
)
_LONG_REFERENCE: Final = re.compile("&#[0-9]{8}")
_REFERENCE: Final = re.compile("&#0*([0-9]+)")
# The end of a line too, which may be in JSON.
_QUOTED_PRINTABLE: Final = re.compile(r"=(?:([0-9a-fA-F]{2})|\r?\n|(?:\\+r)?\\+n)")
# What a mail program escapes, or any two in a row: not the `max-age=3600` of so many answers.
_IS_QUOTED_PRINTABLE: Final = re.compile(
    r"=(?=[0-9a-fA-F\r\n\\])"
    r"(?:[0-9A-F][A-F]|[A-F][0-9]|2[0-9]|[46]0|[0-9a-fA-F]{2}=|\r?\n|\\+[rn])"
)
# A line's end that JSON has escaped, however often. Looking back makes a row of backslashes be
# walked once, and not once for each of them.
_ESCAPED_END: Final = re.compile(r"(?<!\\)\\+[rn]")

_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_LOOK: Final = bytes.maketrans(_BASE64 + b"\r\n\\", b"b" * len(_BASE64) + b"|||")
_NO_RUN: Final = bytes(byte if byte == ord("b") else ord(" ") for byte in range(256))
# Base64 is broken into lines of 76 or 64 characters, by some of 60. In a text that is not long even
# shorter ones are looked at.
LINE_CHARS: Final = 60
_IN_LINES: Final = b"b" * 16 + b"|"
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
# As long as Base64 of Base64 of the shortest secret; most words are shorter.
_RUN_CHARS_MIN: Final = 11
_RUN: Final = re.compile(rb"[A-Za-z0-9+/]{%d,}" % _RUN_CHARS_MIN)
# With what each four characters of Base64 begin that stand for ASCII.
_OF_ASCII: Final = _BASE64[:32]
_ZEROS: Final = b"0" + b"." * 255
_MARKS_OF_ORDER: Final = (b"\xff\xfe", b"\xfe\xff")


def look_of(text: str) -> bytes:
    """How a text looks: `b` for what Base64 is written with, `|` for what may end a line of it."""
    return text.encode("utf-8", "surrogatepass").translate(_LOOK)


def longest_run(text: str) -> int:
    return max(map(len, look_of(text).translate(_NO_RUN).split()), default=0)


def decoded(text: str, look: bytes, chars_min: int, *, has_runs: bool) -> Iterator[str]:
    """All that `text` may stand for, where that is something else. What is sought in it has
    `chars_min` characters or more. `has_runs`: Base64 of it may be there, to judge by its look.
    """
    for inner in _unwrapped(text, look, chars_min, has_runs=has_runs):
        yield inner
        yield from _unescaped(inner)
    for plain in _unescaped(text):
        yield plain
        yield from _unwrapped(plain, look_of(plain), chars_min)


def is_escaped(text: str) -> bool:
    return "\\" in text or "%" in text or "&" in text or "+" in text


def folded(text: str) -> str:
    """Without what stands before a quote or a slash, and what a form writes for a space."""
    return text.replace("\\", "").replace("+", " ")


def wide_texts(body: bytes) -> Iterator[str]:
    """A body read as UTF-16 or UTF-32 of either byte order, where it looks like that."""
    zeros = body.translate(_ZEROS) if b"\0" in body else b""
    if b"0.0.0" in zeros or body[:2] in _MARKS_OF_ORDER:
        yield from (body.decode(encoding, "replace") for encoding in ("utf-16-le", "utf-16-be"))
    if b"000.000" in zeros:
        yield from (body.decode(encoding, "replace") for encoding in ("utf-32-le", "utf-32-be"))


# -- escapes ---------------------------------------------------------------------------------------


def _unescaped(text: str) -> Iterator[str]:
    """After every step that changed something: what the next one takes for an escape may be
    characters of the secret.
    """
    for _ in range(_TIMES_MAX):
        before = text
        for undo in (_without_entities, _without_backslashes, _without_quoted_printable):
            after = undo(text)
            if after != text:
                yield after
                text = after
        if text == before:
            return


def _without_entities(text: str) -> str:
    if "%" not in text and "&" not in text:
        return text
    # Some escape the bytes of Latin-1: these must not all become the same sign.
    text = unquote(text, errors="surrogateescape")
    if _LONG_REFERENCE.search(text):
        text = _REFERENCE.sub(_short_reference, text)
    return html.unescape(text)


def _short_reference(found: re.Match[str]) -> str:
    """Python reads no number of thousands of digits, and no character has one of eight."""
    return "\ufffd" if len(found[1]) > 7 else f"&#{found[1]}"


def _without_backslashes(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _without_quoted_printable(text: str) -> str:
    if "=" not in text or not _IS_QUOTED_PRINTABLE.search(text):
        return text
    return _QUOTED_PRINTABLE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", text)


def _character(found: re.Match[str]) -> str:
    high, low, *whole, octal, slash = found.groups()
    if high:
        return (bytes.fromhex(high) + bytes.fromhex(low)).decode("utf-16-be")
    if slash:
        return "/"
    code = int(octal, 8) if octal else int(next(filter(None, whole)), 16)
    return chr(code) if code <= sys.maxunicode else found[0]


# -- wrappings -------------------------------------------------------------------------------------


def _unwrapped(
    text: str, look: bytes, chars_min: int, *, has_runs: bool = True, is_inner: bool = False
) -> Iterator[str]:
    """Without zeros, colons and ends of lines; and what Base64 in it stands for, which may be in
    lines again, but is not Base64 of Base64 of Base64.
    """
    if "\0" in text:
        text = text.replace("\0", "")
        yield text
        look, has_runs = look_of(text), True
    if (b"bb:" * chars_min)[:-1] in look:
        yield text.replace(":", "")
    if has_runs and b"|" in look and _IN_LINES in look:
        text = _in_one_line(text)
        yield text
        look = look_of(text)
    run_chars = max(_RUN_CHARS_MIN, chars_min * 16 // 9)
    if has_runs and not is_inner and b"b" * run_chars in look:
        inner = _from_base64(text, run_chars)
        yield inner
        yield from _unwrapped(inner, look_of(inner), chars_min, is_inner=True)


def _in_one_line(text: str) -> str:
    """Its lines joined, without what they are indented by."""
    if "\\" in text:
        text = _ESCAPED_END.sub("\n", text).replace("\\", "")
    return "".join(map(str.strip, text.splitlines()))


def _from_base64(text: str, run_chars: int) -> str:
    """What stands before and behind may be of the same alphabet, so a run is read from each of four
    offsets: if most of it is ASCII then. Nearly all ids and digests are nothing of the kind.
    """
    made = bytearray()
    raw = text.encode("utf-8", "surrogatepass").translate(_STANDARD)
    for run in _RUN.findall(raw):
        if len(run) < run_chars:
            continue
        for start in range(4):
            firsts = run[start::4]
            if 4 * len(firsts.translate(None, _OF_ASCII)) <= len(firsts):
                end = len(run) - ((len(run) - start) % 4 == 1)  # one alone stands for nothing
                made += a2b_base64(run[start:end] + b"==") + b"\n"
    return made.decode("utf-8", "surrogateescape")
