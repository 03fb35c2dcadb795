"""`windlass whoami`: who one is to the server, what one may, and who has the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from cyclopts import App

from windlass.cli.http.listing import show_one
from windlass.cli.options import READ, Reading
from windlass.cli.show.output import show_line
from windlass.cli.show.table import Column, columns, show_sentence

app = App(name="whoami", help="Say who you are to the server and what you may do.")


def _confined(caller: Mapping[str, Any]) -> str | None:
    parts = [
        f"{noun} {', '.join(caller[noun])}" for noun in ("queues", "workflows") if caller.get(noun)
    ]
    return " and ".join(parts) or None


PAGE = (
    *columns("name", "kind"),
    Column(title="role", take=lambda caller: caller.get("role") or "none: it has scopes"),
    Column(title="confined to", take=_confined),
    *columns("id", "session_id", "expires_at"),
    Column(
        title="authentication", take=lambda c: "off: everybody" if c.get("auth") == "off" else None
    ),
    Column(
        title="password",
        take=lambda c: "to be chosen: windlass password" if c.get("must_change_password") else None,
    ),
)


@app.default
def whoami(*, reading: Reading = READ) -> None:
    """Show your name, your role, what you may do and who has the rights that you lack."""
    with reading.client() as client:
        answer = client.get("/v1/session")
    show_one(reading, answer, PAGE)
    if reading.output != "table":
        return
    caller = answer.value
    show_line("")
    show_sentence(f"may: {', '.join(caller['rights']) or 'nothing'}")
    by_roles: dict[str, list[str]] = defaultdict(list)
    for lack in caller["lacks"]:
        by_roles[", ".join(lack["roles"])].append(lack["right"])
    for roles, rights in by_roles.items():
        show_sentence(f"may not: {', '.join(rights)} (that takes {_either(roles)})")


def _either(roles: str) -> str:
    first, comma, last = roles.rpartition(", ")
    return f"{first} or {last}" if comma else last
