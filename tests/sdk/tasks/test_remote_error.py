"""What a task raised, raised again where its result is asked for."""

from __future__ import annotations

import asyncio
import builtins
import copy
import json
import pickle
import subprocess
import sys
from enum import Enum
from typing import Any

import pytest

import windlass
from tests.sdk.sample_app import CardRefused, raise_it
from windlass.sdk.tasks.app import App
from windlass.sdk.tasks.handle import failure_of
from windlass.sdk.tasks.remote_error import failure_from, job_failed

FACTS: dict[str, Any] = {"job_id": "job_1", "state": "dead", "cause": "x", "message": "no tea"}


def raised_by(name: str) -> windlass.JobFailed:
    with pytest.raises(windlass.JobFailed) as failed:
        raise_it.enqueue(name).result(timeout=30)
    return failed.value


@pytest.mark.usefixtures("sample")
def test_a_built_in_exception_is_caught_as_itself_and_as_job_failed() -> None:
    with pytest.raises(ValueError, match="no tea") as failed:
        raise_it.enqueue("no tea").result(timeout=30)
    found = failed.value
    assert isinstance(found, windlass.JobFailed)
    assert (found.message, found.cause, found.remote_type) == ("no tea", "ValueError", "ValueError")
    assert found.remote_traceback is not None
    assert "raise ValueError(name)" in found.remote_traceback
    assert type(found).__name__ == "JobFailed"


@pytest.mark.usefixtures("sample")
async def test_the_same_is_so_for_code_that_awaits() -> None:
    handle = await raise_it.aenqueue("no tea")
    with pytest.raises(ValueError, match="no tea"):
        await handle
    with pytest.raises(ValueError, match="no tea"):
        await (await raise_it.amap(["no tea"])).aresults()


@pytest.mark.usefixtures("sample")
def test_an_exception_of_the_app_is_of_its_class_without_its_constructor() -> None:
    found = raised_by("CardRefused")
    assert isinstance(found, CardRefused)
    assert isinstance(found, LookupError)
    assert found.remote_type == "tests.sdk.sample_app:CardRefused"
    assert found.message == "4711: stolen"
    assert not hasattr(found, "card")  # only its text came over


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("UnicodeDecodeError", UnicodeDecodeError, "invalid start byte"),
        ("KeyError", KeyError, "tea"),
        ("OSError", FileNotFoundError, "No such file"),
    ],
)
def test_exceptions_of_another_layout_say_what_they_said(
    name: str, kind: type[Exception], message: str
) -> None:
    found = raised_by(name)
    assert isinstance(found, kind)
    assert message in found.message
    assert str(found).startswith(f"{found.job_id} is dead: {kind.__name__}: ")


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ExceptionGroup", BaseExceptionGroup),
        ("StopIteration", StopIteration),
        ("NotFound", windlass.NotFound),
        ("Local", ValueError),
    ],
)
def test_what_may_not_or_cannot_be_raised_here_is_a_plain_job_failed(
    name: str, kind: type[BaseException]
) -> None:
    found = raised_by(name)
    assert type(found) is windlass.JobFailed
    assert not isinstance(found, kind)


@pytest.mark.usefixtures("sample")
def test_a_task_that_would_leave_its_process_does_not_end_the_callers() -> None:
    found = raised_by("SystemExit")
    assert SystemExit not in type(found).__mro__
    assert found.message == "the task raised SystemExit: 3"


BUILT_IN = sorted(
    {
        one
        for one in vars(builtins).values()
        if isinstance(one, type)
        and issubclass(one, BaseException)
        and not issubclass(windlass.JobFailed, one)
    },
    key=lambda one: one.__name__,
)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_every_built_in_exception_can_be_told(kind: type[BaseException]) -> None:
    error = job_failed(**FACTS, remote_type=kind.__name__)
    assert "no tea" in str(error)
    assert "no tea" in repr(error)
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert twin.__dict__ == error.__dict__
    may = issubclass(kind, Exception) and not issubclass(
        kind, StopIteration | StopAsyncIteration | BaseExceptionGroup
    )
    assert isinstance(error, kind) == may


class Stubborn(Exception):
    """One that cannot be made a part of another class."""

    def __init_subclass__(cls) -> None:
        raise TypeError("no children")


class ReadOnly(ValueError):
    """One whose attributes cannot be set."""

    @property
    def message(self) -> str:
        return "mine"


class NoText(ValueError):
    """One that cannot say what it is, unless it was made by its constructor."""

    def __str__(self) -> str:
        raise RuntimeError("made in another way")


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    "name", ["Stubborn", "ReadOnly", "Colour", "Colour.RED", "nobody", "", "."]
)
def test_what_stands_in_the_way_gives_a_plain_job_failed(name: str) -> None:
    error = job_failed(**FACTS, remote_type=f"{__name__}:{name}")
    assert type(error) is windlass.JobFailed
    assert error.message == "no tea"


def test_the_words_are_those_of_job_failed_whatever_the_class_says() -> None:
    error = job_failed(**FACTS, remote_type=f"{__name__}:NoText")
    assert isinstance(error, NoText)
    assert str(error) == "job_1 is dead: x: no tea"


def test_nothing_is_imported_for_it() -> None:
    code = (
        "import json, sys, windlass\n"
        "from windlass.sdk.tasks.remote_error import job_failed\n"
        "before = set(sys.modules)\n"
        f"facts = json.loads({json.dumps(FACTS)!r})\n"
        "for name in ('this:d', 'windlass:Durable', 'xml.dom:DOMException', 'os:nothing'):\n"
        "    assert type(job_failed(**facts, remote_type=name)) is windlass.JobFailed, name\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_a_node_of_an_earlier_release_says_the_name_alone() -> None:
    said = {"cause": "ZeroDivisionError", "message": "no tea", "traceback": "Traceback …"}
    assert isinstance(failure_from(said, **FACTS), ZeroDivisionError)
    # Without a traceback it was no exception, whatever it is called.
    assert type(failure_from({**said, "traceback": None}, **FACTS)) is windlass.JobFailed
    job = {"id": "job_1", "state": "expired"}
    assert type(failure_of(job)) is windlass.JobFailed


def test_notes_and_a_pickle_elsewhere(sample: App) -> None:
    error = job_failed(**FACTS, remote_type="tests.sdk.sample_app:CardRefused")
    error.add_note("seen")
    text = pickle.dumps(error)
    code = (
        "import pickle, sys, windlass\n"
        "error = pickle.loads(sys.stdin.buffer.read())\n"
        "print(type(error) is windlass.JobFailed, error.remote_type, error.__notes__)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, check=True)
    assert told.stdout.decode() == "True tests.sdk.sample_app:CardRefused ['seen']\n"


def test_it_passes_through_futures() -> None:
    async def fail() -> None:
        raise job_failed(**FACTS, remote_type="TimeoutError")

    with pytest.raises(TimeoutError) as failed:
        asyncio.run(asyncio.wait_for(fail(), 30))
    assert isinstance(failed.value, windlass.JobFailed)
