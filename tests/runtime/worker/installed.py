"""Distributions in a folder of their own, as an installer leaves them: entry points and modules."""

from __future__ import annotations

import os
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
        """Written again, it is as old as it was: a change within the same second."""
        file = self.folder / path
        file.parent.mkdir(exist_ok=True)
        before = file.stat() if file.exists() else None
        file.write_text(dedent(text))
        if before is not None:
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
