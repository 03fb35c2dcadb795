"""Distributions in a folder of their own, as an installer leaves them: entry points and modules."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

SMS = """
    import json
    from windlass.model.job.outcome import Succeeded

    class Sms:
        input_schema = {"required": ["to"], "properties": {"to": {"type": "string"}}}
        output_schema = {"type": "string"}

        def check_input(self, value):
            return [("/to", "nobody is there")] if value["to"] == "nobody" else []

        async def perform(self, attempt):
            return Succeeded(json.dumps("%s " + json.loads(attempt.input)["to"]).encode())

        async def close(self):
            pass
"""


class Installed:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def distribution(self, name: str, version: str, entries: dict[str, str]) -> None:
        """`entries`: kind -> module:class."""
        info = self.folder / f"{name}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"{kind} = {value}" for kind, value in entries.items()]
        text = "\n".join(["[windlass.strategies]", *lines, ""])
        (info / "entry_points.txt").write_text(text)

    def module(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(dedent(text))
