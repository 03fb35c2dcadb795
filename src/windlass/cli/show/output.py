"""Write what the server said: lines for people, JSON for programs.

Promises: `-o json` is the API object unchanged; text that came from elsewhere cannot move the
cursor, recolour or retitle the terminal.
"""

from __future__ import annotations

import json
import sys


def is_tty() -> bool:
    return sys.stdout.isatty()


def plain(text: str) -> str:
    """`text` with every control character made visible."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def say(text: str = "") -> None:
    """One line to people, beside the output."""
    print("\n".join(plain(line) for line in text.split("\n")), file=sys.stderr, flush=True)


def show_line(text: str) -> None:
    sys.stdout.write(plain(text) + "\n")


def show_once(secret: str, about: str) -> None:
    """Alone on standard output, so that a shell can keep it; what it is goes beside it."""
    show_line(secret)
    sys.stdout.flush()
    say(about)


def show_json(text: str) -> None:
    """A JSON document: byte for byte to a program, indented to a person."""
    _write_utf8(indented(json.loads(text)) if text and is_tty() else text)


def show_value(value: object) -> None:
    _write_utf8(indented(value))


def show_json_line(value: object) -> None:
    text = compact(value)
    _write_utf8(_escaped(text) if is_tty() else text)


def _write_utf8(text: str) -> None:
    # JSON is UTF-8 whatever the locale says.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace").rstrip(b"\n") + b"\n")


def indented(value: object) -> str:
    return _escaped(json.dumps(value, indent=2, ensure_ascii=False))


def _escaped(text: str) -> str:
    """JSON escapes all below U+0020 by itself; these are what is left that a terminal obeys."""
    return "".join(c if c in "\n " or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _visible(character: str) -> str:
    return " " if character.isspace() else ascii(character)[1:-1]
