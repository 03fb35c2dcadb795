"""What a developer sees of a delivery: one line, and below it what was asked for."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, Literal

from windlass.cli.limits import LISTEN_BODY_CHARS_SHOWN_MAX
from windlass.cli.listen.receive import Delivery
from windlass.cli.show.output import is_tty, plain, show_json_line

Parts = Literal["headers", "body", "all"]
Output = Literal["text", "jsonl"]
# A piece of a line and how rich is to paint it.
Piece = tuple[str, str]

_VERDICTS: Final = {
    "verified": ("✓ verified", "green"),
    "wrong": ("✗", "bold red"),
    "unsigned": ("unsigned", "yellow"),
    "unchecked": ("not checked", "dim"),
}
_STATUSES: Final = {2: "green", 3: "cyan", 4: "yellow", 5: "red"}


def shower(output: Output, parts: Parts | None) -> Callable[[Delivery], None]:
    """How deliveries are shown, each at once: somebody may read at the end of a pipe."""
    if output == "jsonl":
        return partial(_show_json, parts=parts)
    return partial(_show_painted if is_tty() else _show_plain, parts=parts)


def _show_json(delivery: Delivery, parts: Parts | None) -> None:
    show_json_line(document(delivery, parts))
    sys.stdout.flush()


def _show_plain(delivery: Delivery, parts: Parts | None) -> None:
    for pieces in lines(delivery, parts):
        sys.stdout.write("  ".join(text for text, _ in pieces) + "\n")
    sys.stdout.flush()


def _show_painted(delivery: Delivery, parts: Parts | None) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for pieces in lines(delivery, parts):
        console.print(Text("  ").join(Text(text, style) for text, style in pieces))


def lines(delivery: Delivery, parts: Parts | None) -> Iterator[list[Piece]]:
    """Everything from outside is made harmless here: it may hold what a terminal obeys."""
    yield [(plain(text), style) for text, style in _headline(delivery)]
    if delivery.trouble is not None:
        yield [("", ""), (plain(delivery.trouble), "red")]
    if parts in ("headers", "all"):
        for name, value in delivery.headers:
            yield [("", ""), (plain(f"{name}: {value}"), "dim")]
    if parts in ("body", "all"):
        yield from ([("", ""), (plain(line), "")] for line in _body_lines(delivery.body))


def _headline(delivery: Delivery) -> Iterator[Piece]:
    yield f"{delivery.at:%H:%M:%S.%f}"[:-3], "dim"
    yield delivery.method, "bold"
    yield delivery.path, ""
    yield delivery.webhook_id or "no webhook-id", "cyan" if delivery.webhook_id else "yellow"
    if delivery.attempt is not None:
        yield f"attempt {delivery.attempt}", ""
    yield "too large" if delivery.body is None else _size(len(delivery.body)), ""
    word, style = _VERDICTS[delivery.verdict.word]
    yield " ".join(part for part in (word, delivery.verdict.why) if part), style
    yield str(delivery.status), _STATUSES.get(delivery.status // 100, "")
    yield f"{delivery.ms:.1f} ms", "dim"
    if delivery.times > 1:
        yield f"again, {delivery.times} times by now", "bold magenta"


def document(delivery: Delivery, parts: Parts | None) -> dict[str, Any]:
    """One line of `-o jsonl`."""
    told: dict[str, Any] = {
        "at": delivery.at.isoformat().replace("+00:00", "Z"),
        "method": delivery.method,
        "path": delivery.path,
        "webhook_id": delivery.webhook_id,
        "attempt": delivery.attempt,
        "times": delivery.times,
        "size": None if delivery.body is None else len(delivery.body),
        "signature": delivery.verdict.word,
        "signature_problem": delivery.verdict.why,
        "status": delivery.status,
        "ms": round(delivery.ms, 3),
        "trouble": delivery.trouble,
    }
    if parts in ("headers", "all"):
        told["headers"] = [list(pair) for pair in delivery.headers]
    if parts in ("body", "all") and delivery.body is not None:
        told |= _body_fields(delivery.body)
    return told


def _body_fields(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def _body_lines(body: bytes | None) -> list[str]:
    if not body:
        return []
    text = body.decode(errors="replace")
    shown = text[:LISTEN_BODY_CHARS_SHOWN_MAX].splitlines()
    more = len(text) - LISTEN_BODY_CHARS_SHOWN_MAX
    return [*shown, f"… and {more:,} characters more"] if more > 0 else shown


def _size(count: int) -> str:
    return f"{count:,} B" if count < 10_000 else f"{count / 1024:,.0f} KiB"
