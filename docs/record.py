"""Record the first minute with Windlass at a terminal: docs/first-minute.svg, of what really came.

usage: .venv/bin/python docs/record.py

Starts `windlass up` in a folder of its own, types some commands as a newcomer would, and draws what
was answered. The picture is text: its lines appear one after the other where a viewer animates SVG,
and stand there all at once where it does not.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from html import escape
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
WINDLASS: Final = ROOT / ".venv" / "bin" / "windlass"
PORT: Final = "5777"
COLUMNS: Final = 84
LINE_HEIGHT, CHAR_WIDTH, MARGIN = 20, 8.43, 24
READY_SECONDS_MAX: Final = 60.0
COMMANDS: Final = (
    "windlass task ls",
    "windlass task run total_of 'lines=[[\"tea\", 2, 4.5]]' --wait",
    "windlass job submit noop --delay 1h",
    "windlass job why JOB",
)
HEAD: Final = """<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" \
viewBox="0 0 {width} {height}" \
font-family="ui-monospace, 'SF Mono', Menlo, Consolas, monospace" font-size="14">
<title>windlass up, and the first commands</title>
<style>
text {{ fill: #d8dee9; white-space: pre; animation: show 0.01s linear both; }}
.typed {{ fill: #a3be8c; font-weight: 600; }}
.dim {{ fill: #8b95a7; }}
@keyframes show {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none; }} }}
</style>
<rect width="{width}" height="{height}" rx="10" fill="#1f2430"/>
<circle cx="22" cy="20" r="6" fill="#ec6a5e"/><circle cx="42" cy="20" r="6" fill="#f4bf4f"/>
<circle cx="62" cy="20" r="6" fill="#61c554"/>
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = record(Path(folder))
    (ROOT / "docs" / "first-minute.svg").write_text(draw(lines))


def record(folder: Path) -> list[tuple[str, str]]:
    """What was typed and what came, each line with its class."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("WINDLASS_")}
    environ |= {"COLUMNS": str(COLUMNS), "XDG_STATE_HOME": str(folder / "state")}
    environ["PYTHONPATH"] = str(ROOT)
    command = [str(WINDLASS), "up", "--app", "examples.shop:app"]
    lines = [("typed", "$ windlass up --app examples.shop:app")]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            until = time.monotonic() + READY_SECONDS_MAX
            for line in server.stdout:
                said = line.rstrip()
                lines.append(("", re.sub(r"wlk_\S+", "wlk_…", said)))
                if line.startswith("ready:") or time.monotonic() > until:
                    break
            job = ""
            for typed in COMMANDS:
                lines += [("", ""), ("typed", f"$ {typed.replace('JOB', job[:16] + '…')}")]
                said = _run(typed.replace("JOB", job), environ)
                job = (re.findall(r"job_[0-9a-f]{32}", said) or [job])[0]
                lines += [("dim", line) for line in said.splitlines()]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    return [(kind, _shortly(line)) for kind, line in lines]


def _run(typed: str, environ: dict[str, str]) -> str:
    command = typed.replace("windlass", str(WINDLASS), 1)
    ran = subprocess.run(
        ["bash", "-c", command],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout or ran.stderr


def _shortly(line: str) -> str:
    line = re.sub(r"(job_[0-9a-f]{12})[0-9a-f]{20}", r"\1…", line)
    return line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"


def draw(lines: list[tuple[str, str]]) -> str:
    width = round(2 * MARGIN + COLUMNS * CHAR_WIDTH)
    height = 48 + LINE_HEIGHT * len(lines) + MARGIN
    shown, at = [], 0.4
    for number, (kind, line) in enumerate(lines):
        at += 0.9 if kind == "typed" else 0.05
        mark = f' class="{kind}"' if kind else ""
        y = 56 + LINE_HEIGHT * number
        style = f'style="animation-delay: {at:.2f}s"'
        shown.append(f'<text x="{MARGIN}" y="{y}"{mark} {style}>{escape(line)}</text>')
    return HEAD.format(width=width, height=height) + "\n".join(shown) + "\n</svg>\n"


if __name__ == "__main__":
    main()
