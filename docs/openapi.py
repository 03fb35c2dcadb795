"""Write docs/openapi.json as a running Windlass serves it.

It asks a real server, started for the purpose, and so documents what callers will meet.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
START_SECONDS_MAX = 90.0
STOP_SECONDS_MAX = 40.0


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="windlass-docs-") as folder:
        document = served_by([str(Path(sys.executable).with_name("windlass")), "up"], Path(folder))
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    (ROOT / "docs" / "openapi.json").write_text(text)
    return 0


def served_by(command: list[str], folder: Path) -> object:
    """Start a server with its data below `folder`, take its OpenAPI document, and stop it."""
    # Settings of the person who runs this are not for the documentation's server.
    environ = {k: v for k, v in os.environ.items() if not k.startswith("WINDLASS_")}
    child = subprocess.Popen(
        [*command, "--port", str(free_port()), "--data", str(folder / "data")],
        cwd=folder,
        env=environ | {"WINDLASS_AUTH": "off"},
        stdout=subprocess.PIPE,
        text=True,
    )
    overdue = threading.Timer(START_SECONDS_MAX, child.kill)
    overdue.start()
    try:
        with urllib.request.urlopen(f"{ready_address(child)}/openapi.json", timeout=10) as answer:
            return json.load(answer)
    finally:
        overdue.cancel()
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=STOP_SECONDS_MAX)


def ready_address(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    for line in child.stdout:
        if found := re.search(r"ready: (http://\S+)", line):
            return found[1].rstrip("/")
    raise SystemExit(f"windlass up did not get ready (exit code {child.wait()})")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
