"""What docs/workflows-as-code.md and docs/schedules.md show is code that works."""

from __future__ import annotations

import re
from typing import Any

import windlass
from tests.house.repository import ROOT


def blocks(page: str) -> str:
    text = (ROOT / "docs" / page).read_text()
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def run(page: str, **names: Any) -> windlass.App:
    """Not from a string that a reader cannot see: the page is the program."""
    exec(compile(blocks(page), page, "exec"), names)
    app: windlass.App = names["app"]
    return app


def test_the_workflows_that_the_page_shows_are_workflows() -> None:
    app = run("workflows-as-code.md")
    documents = {name: code.definition() for name, code in app.workflows.items()}
    assert documents.keys() == {"fulfil", "gift", "send"}
    assert documents["fulfil"]["description"] == "Charge, pack, ask about risky ones, ship."
    assert documents["fulfil"]["steps"][0]["undo"]["input"]["task"] == "refund"
    assert documents["send"]["steps"][-1]["join"] == "any"


def test_the_schedules_that_the_page_shows_are_schedules() -> None:
    app = run("schedules.md", app=windlass.App("shop"))
    bodies = [schedule.body(app.name) for schedule in app.schedules.values()]
    assert [body["job"]["input"]["task"] for body in bodies] == [
        *("digest", "count_stock", "close_books")
    ]
