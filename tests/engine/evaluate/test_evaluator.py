"""The process beside the node that evaluates what takes a while: whatever befalls it, every
question has its answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from tests.engine.evaluate.stopped import ANSWER, QUESTION
from tests.until import until
from windlass.engine.evaluate import evaluator
from windlass.engine.evaluate.evaluator import Evaluator
from windlass.limits import EVALUATOR_NICENESS

CANARY = "canary-in-the-environment"
# The node's own, and what programs beside it may have there.
SECRET = ("WINDLASS_SECRET_KEY", "WINDLASS_DATABASE_URL", "PGPASSWORD", "TOKEN", "PYTHON_TOKEN")


@pytest.fixture
async def own(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Evaluator]:
    """One that no other test uses, and that begins another process at once."""
    monkeypatch.setattr(evaluator, "EVALUATOR_REST_SECONDS", 0.0)
    made = Evaluator()
    yield made
    if made.pid is not None:
        os.kill(made.pid, signal.SIGKILL)
        await made.ask(QUESTION)  # it notices
        assert made.pid is None


async def test_another_process_answers_and_stands_back(own: Evaluator) -> None:
    assert own.pid is None, "nobody has asked yet"
    assert await asyncio.gather(*(own.ask(QUESTION) for _ in range(5))) == [ANSWER] * 5
    assert own.answered_here == 0
    process = psutil.Process(own.pid)
    assert process.ppid() == os.getpid()
    assert process.nice() > psutil.Process().nice()
    # A Ctrl-C goes to the node's group; and where sessions share the processor, its stands back.
    assert os.getpgid(process.pid) != os.getpgid(0)
    assert _niceness_of_session(process.pid) in (None, EVALUATOR_NICENESS)


async def test_the_process_is_not_given_what_the_node_keeps_secret(
    own: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SECRET:
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    await own.ask(QUESTION)
    assert own.pid is not None
    given = psutil.Process(own.pid).environ()  # what /proc says of it
    assert given["PATH"] == os.environ["PATH"]
    assert given["LC_CTYPE"] == "C.UTF-8"
    assert CANARY not in given.values()


@pytest.mark.parametrize("is_in_the_middle", [True, False])
async def test_a_killed_process_loses_no_answer(own: Evaluator, is_in_the_middle: bool) -> None:
    await own.ask(QUESTION)
    first = own.pid
    assert first is not None
    if is_in_the_middle:
        os.kill(first, signal.SIGSTOP)
        asking = asyncio.create_task(own.ask(QUESTION))
        await until(lambda: own.is_asking, what="it was asked")
        os.kill(first, signal.SIGKILL)
        assert await asking == ANSWER
    else:
        os.kill(first, signal.SIGKILL)
        assert await own.ask(QUESTION) == ANSWER
    assert own.answered_here == 1
    assert await own.ask(QUESTION) == ANSWER
    assert own.answered_here == 1, "another one was begun"
    assert own.pid not in (None, first)
    assert not psutil.pid_exists(first), "it was collected"


async def test_a_process_that_hangs_is_given_up(
    own: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    await own.ask(QUESTION)
    pid = own.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(evaluator, "EVALUATION_SECONDS", 0.2)
    assert await own.ask(QUESTION) == ANSWER
    assert own.pid is None
    assert own.answered_here == 1


async def test_without_a_process_the_node_answers_itself(
    own: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert await own.ask(QUESTION) == ANSWER
    assert own.answered_here == 1
    monkeypatch.setattr(evaluator, "EVALUATOR_REST_SECONDS", 600.0)
    assert [await own.ask(QUESTION) for _ in range(2)] == [ANSWER] * 2
    monkeypatch.undo()
    assert await own.ask(QUESTION) == ANSWER
    assert own.pid is None, "it rests before it tries again"


async def test_what_cannot_be_answered_anywhere_is_told_to_who_asked(own: Evaluator) -> None:
    with pytest.raises(ValueError, match="JSON is malformed"):
        await own.ask(b"no question")
    assert await own.ask(QUESTION) == ANSWER


async def test_who_went_away_is_not_answered_and_stops_nobody(own: Evaluator) -> None:
    await own.ask(QUESTION)
    assert own.pid is not None
    os.kill(own.pid, signal.SIGSTOP)
    tasks = [asyncio.create_task(own.ask(QUESTION)) for _ in range(3)]
    await until(lambda: own.is_asking, what="the first is asked")
    for task in tasks[:2]:
        task.cancel()
    os.kill(own.pid, signal.SIGCONT)
    assert await tasks[2] == ANSWER


async def test_it_leaves_when_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "EVALUATOR_IDLE_SECONDS", 0.1)
    own = Evaluator()
    await own.ask(QUESTION)
    await until(lambda: own.pid is None, what="it left")
    assert await own.ask(QUESTION) == ANSWER
    await until(lambda: own.pid is None, what="it left again")


PROGRAM = """
import asyncio, time
from tests.engine.evaluate.stopped import QUESTION
from windlass.engine.evaluate.evaluator import Evaluator

async def main():
    own = Evaluator()
    await own.ask(QUESTION)
    print(own.pid, flush=True)
    time.sleep(600)

asyncio.run(main())
"""


async def test_it_leaves_with_a_node_that_was_killed() -> None:
    node = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, stdout=asyncio.subprocess.PIPE
    )
    assert node.stdout is not None
    try:
        pid = int(await node.stdout.readline())
        assert psutil.pid_exists(pid)
    finally:
        node.kill()
        await node.wait()
    await until(lambda: _is_gone(pid), what="it is gone")


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE  # init collects it
    except psutil.NoSuchProcess:
        return True


def _niceness_of_session(pid: int) -> int | None:
    """None: sessions do not count here."""
    session = Path(f"/proc/{pid}/autogroup")
    return int(session.read_text().rpartition(" nice ")[2]) if session.exists() else None
