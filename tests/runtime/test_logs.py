"""Logs: for machines one line, one object, whoever speaks; for people sentences."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from windlass.limits import LOG_ALIKE_MAX

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


CONSOLE = """
import logging, sys
import structlog
from windlass.telemetry.logs import configure_logs, hear_app

configure_logs("console", *sys.argv[1:])
log = structlog.get_logger()
hear_app()
log.debug("some_detail", n=1)
log.warning("server_ended", reason="the disk is full", log_path="/data/x")
log.warning("schedules_held", count=4312, reason="postgresql://me:p@ss/w@db:5432/x is busy")
log.error("request_refused", error="\\x1b[2Jgone\\nand a second line", request_id="r1")
log.info("no_event_of_ours", url="https://user:secret@example.com/a@b")
logging.getLogger("shop").info("a library's %s", "word")
logging.getLogger("shop").info("of %d", "no number")
for _ in range(50):
    log.warning("loop_waits", loop="beat", reason="somebody holds it")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("operation_failed")
"""


def console(program: str, *args: str, **environ: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environ},
    )
    assert done.returncode == 0, done.stderr
    assert re.match(r"\d\d:\d\d:\d\d ", done.stderr)
    return [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in done.stderr.splitlines()]


def test_a_console_tells_in_sentences_of_one_line_without_passwords_or_commands() -> None:
    ended, held, refused, other, word, misfit, *rest = console(CONSOLE)
    assert ended == (
        "WARNING   an embedded server ended by itself and is started again: the disk is full"
        "  log_path=/data/x event=server_ended"
    )
    assert held == (
        "WARNING   4,312 schedules fire later; somebody holds what they need: "
        "postgresql://***@db:5432/x is busy  event=schedules_held"
    )
    assert r": \x1b[2Jgone\nand a second line  request_id=r1 event=" in refused
    assert other == "INFO      no_event_of_ours  url=https://***@example.com/a@b"
    assert word == "INFO      a library's word  logger=shop"
    assert misfit.startswith("INFO      of %d (its arguments do not fit: TypeError: ")
    waits = "WARNING   a part of this node waits (beat): somebody holds it  event=loop_waits"
    assert rest.count(waits) == LOG_ALIKE_MAX
    failed = rest.index(
        "ERROR     a change of this node failed and is taken back  event=operation_failed"
    )
    assert rest[failed + 1].startswith("Traceback")
    assert f"… and {50 - LOG_ALIKE_MAX} more like this in the last 10 s: a part" in rest[-1]


def test_the_level_says_where_the_log_begins() -> None:
    assert {line.split()[0] for line in console(CONSOLE, "error") if "event=" in line} == {"ERROR"}
    everything = console(CONSOLE, "debug")
    assert "DEBUG     some_detail  n=1" in everything
    assert sum("loop_waits" in line for line in everything) == 50, "nothing is left out"


@pytest.mark.parametrize(("environ", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_a_terminal_whose_owner_wants_them(
    environ: dict[str, str], is_coloured: bool
) -> None:
    ours, theirs = pty.openpty()
    with contextlib.closing(os.fdopen(ours, "rb", buffering=0)) as screen:
        subprocess.run(
            [sys.executable, "-c", CONSOLE],
            stderr=theirs,
            check=True,
            timeout=60,
            env={name: text for name, text in os.environ.items() if name != "NO_COLOR"} | environ,
        )
        os.close(theirs)
        shown = screen.read(100_000)
    assert (b"\x1b[33mWARNING" in shown) == is_coloured
    assert b"\x1b[2Jgone" not in shown


# An App that has structlog speak through the standard library, and a task that speaks.
APP_WITH_STRUCTLOG = """
import logging, sys
import structlog
from windlass.telemetry.logs import configure_logs, hear_app
from windlass.model.job.running import current

configure_logs("console")
{configuration}
hear_app()

class Running:
    class facts:
        job_id, task = "job_1", "pack"
    def note_line(self, level, message, fields):
        if "unwritable" in str(message):
            raise OSError("a broken pipe")
        print("noted", level, message, fields)

class Unshowable:
    def __str__(self):
        raise ValueError

current.set(Running())
structlog.get_logger().info("packed", box=3)
logging.getLogger("shop").error("an object: %s", Unshowable())
logging.getLogger("shop").critical("unwritable")
logging.getLogger("asyncpg").info("chatter")
logging.log(25, "a level of its own")
try:
    1 / 0
except ZeroDivisionError:
    structlog.get_logger().exception("it fails")
"""
OWN_CONFIGURATIONS = {
    "none": "",
    "the standard library": """
logging.basicConfig(level=logging.INFO, format="theirs %(message)s")
structlog.configure(
    processors=[structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
)
""",
    "its own printer": "structlog.configure(processors=[structlog.processors.JSONRenderer()])",
}


@pytest.mark.parametrize("configuration", OWN_CONFIGURATIONS.values(), ids=OWN_CONFIGURATIONS)
def test_a_line_of_a_task_is_noted_once_however_its_app_has_configured_logs(
    configuration: str,
) -> None:
    program = APP_WITH_STRUCTLOG.replace("{configuration}", configuration)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    noted = [line for line in done.stdout.splitlines() if line.startswith("noted")]
    assert noted[0] == "noted info packed {'box': 3}"
    assert noted[1].startswith("noted error an object: %s (its arguments do not fit: ValueError")
    assert noted[2:4] == [
        "noted error a line that cannot be shown was logged here {}",
        "noted info a level of its own {}",
    ]
    assert noted[4].startswith("noted error it fails {")
    assert "ZeroDivisionError: division by zero" in noted[4]
    assert len(noted) == 5
