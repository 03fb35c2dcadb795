"""What docs/client.md shows is run here, from its top to its end."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.house.repository import ROOT
from tests.sdk.conftest import Server


def test_every_example_of_the_page_runs(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WINDLASS_URL", server.url)
    monkeypatch.setenv("WINDLASS_TOKEN", server.token)
    page = (ROOT / "docs" / "client.md").read_text()
    examples = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    known: dict[str, Any] = {"__name__": "page"}

    for example in examples:
        exec(compile(example, "docs/client.md", "exec"), known)

    assert len(known["made"]) == 1000
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "succeeded"
    assert "job job_" + "0" * 32 in said
    assert "/priority must be one of: low normal high critical" in said
    known["client"].close()
