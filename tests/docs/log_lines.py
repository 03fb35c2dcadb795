"""Lines of a node's log that a page shows: each is the sentence of its event, and no field is told
twice. Both formats are made of one table, so it is the table that they are held against.
"""

from __future__ import annotations

import json
import re
from typing import Final

from windlass.telemetry.console import _FOR_MACHINES
from windlass.telemetry.messages import FIELDS, MESSAGES

_LINE: Final = re.compile(
    r"\d\d:\d\d:\d\d (?P<level>[A-Z]+) +(?P<said>.*?)  (?P<fields>(?:\w+=\S+ ?)*)"
)


def are_log_lines(text: str) -> None:
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        assert found, f"is no line of a log: {line}"
        fields = dict(pair.split("=", 1) for pair in found["fields"].split())
        if (event := fields.pop("event", None)) is None:
            assert "logger" in fields, f"neither of Windlass nor of a task: {line}"
            continue
        assert re.fullmatch(_sentence(event), found["said"]), f"{event} says otherwise: {line}"
        told = fields.keys() & (_FOR_MACHINES | FIELDS[event])
        assert not told, f"the sentence has told these: {told}"


def is_json_line(text: str) -> None:
    line = json.loads(text)
    assert re.fullmatch(_sentence(line["event"]), line["message"]), line["message"]
    assert line.keys() >= FIELDS[line["event"]] | {"level", "timestamp"}, line


def _sentence(event: str) -> str:
    """Its sentence, with whatever stands in a field."""
    return re.sub(r"\\\{.*?\\\}", ".*", re.escape(MESSAGES[event]).replace("\\:", ":"))
