"""Logs for machines: one line, one object, whoever speaks."""

from __future__ import annotations

import json
import subprocess
import sys

SPEAKERS = """
import asyncio, gc, logging, threading, warnings
import structlog
from windlass.telemetry.logs import configure_logs

configure_logs("json")
structlog.get_logger().info("ours", of="windlass")
logging.getLogger("some.library").info("a word of %s", "a library")
logging.getLogger("uvicorn.error").info("nobody wants to know")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("asyncpg.pool").warning("it fails", exc_info=True)
    structlog.get_logger().exception("ours_failed")
warnings.warn("this is old")

async def main():
    async def fail():
        raise ValueError("in a task that nobody waits for")
    asyncio.create_task(fail())
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0.01)

asyncio.run(main())
gc.collect()

class Bad:
    def __del__(self):
        raise ValueError("in a destructor")

Bad()
thread = threading.Thread(target=lambda: 1 / 0, name="of a thread")
thread.start()
thread.join()
raise ValueError("the last word\\nof two lines")
"""


def test_a_server_that_is_away_is_told_on_a_console_in_a_line_and_not_in_thirty() -> None:
    program = (
        SPEAKERS.partition("warnings.warn")[0]
        .replace('"json"', '"console"')
        .replace('    structlog.get_logger().exception("ours_failed")\n', "")
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "it fails: division by zero\n" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_line_of_a_json_log_is_one_object_whoever_speaks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPEAKERS], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert all({"event", "level", "timestamp"} <= line.keys() for line in lines)
    assert all("Traceback" not in line["event"] for line in lines)
    told = "\n".join(line["event"] for line in lines)
    for event in ("ours", "a word of a library", "it fails", "ours_failed", "this is old"):
        assert event in told
    assert "nobody wants to know" not in told
    assert "Task exception was never retrieved" in told
    assert "Exception in callback" in told
    *_, destructor, thread, last = lines
    assert "in a destructor" in destructor["exception"]
    assert (thread["thread"], thread["level"]) == ("of a thread", "critical")
    assert "the last word\nof two lines" in last["exception"]
