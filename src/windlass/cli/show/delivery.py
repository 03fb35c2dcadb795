"""What people see of a webhook's deliveries: a row each, then whom they go to and what is next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from windlass.cli.exits import BadUsage
from windlass.cli.http.client import Answer
from windlass.cli.options import Reading
from windlass.cli.show.job import attempt_took, error_text
from windlass.cli.show.moment import when
from windlass.cli.show.output import show_json, show_json_line
from windlass.cli.show.table import Column, columns, prose, show_sentence, show_table, spare


def _ms(name: str) -> Callable[[Mapping[str, Any]], str]:
    def take(delivery: Mapping[str, Any]) -> str:
        found = (delivery.get("timings_ms") or {}).get(name)
        return "" if found is None else f"{found:g} ms"

    return take


def _outcome(delivery: Mapping[str, Any]) -> str:
    return str(delivery.get("outcome") or "running")


DELIVERY: Final = (
    *columns("attempt"),
    Column(title="outcome", take=_outcome),
    Column(title="status", take="status_code"),
    *columns("started_at"),
    Column(title="took", take=attempt_took),
    *spare(
        *(
            Column(title=name.replace("_", " "), take=_ms(name))
            for name in ("dns", "connect", "tls", "first_byte")
        ),
        "address",
    ),
    prose("error", lambda delivery: error_text(delivery.get("error")), is_folded=True),
)


def show_deliveries(reading: Reading, answer: Answer) -> None:
    status = answer.value
    match reading.output:
        case "json":
            show_json(answer.text)
        case "jsonl":
            for delivery in status["deliveries"]:
                show_json_line(delivery)
        case "id":
            raise BadUsage("deliveries have no id; use -o json or -o jsonl")
        case "table":
            show_table(DELIVERY, status["deliveries"], none="it was not delivered yet")
            show_sentence(_sentence(status))


def _sentence(status: Mapping[str, Any]) -> str:
    """`queued for shop.example, its breaker is open; next attempt in 4 s (…)`."""
    target = status.get("target") or {}
    told = f"{status['state']}, for {target.get('host') or 'nobody'}"
    if target.get("breaker") not in (None, "closed"):
        told += f", whose breaker is {target['breaker'].replace('_', ' ')}"
    if status.get("next_attempt_at"):
        told += f"; next attempt {when(status['next_attempt_at'])}"
    return told
