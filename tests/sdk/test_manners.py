"""How what users import shows itself: reprs, and a sentence for everything public."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest

import windlass
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.blocking import Blocking, Listed, Streamed
from windlass.sdk.nouns.noun import Noun

# Of these only the names are public.
NO_CLASS_OR_FUNCTION = {"INSTANT", "__version__"}


def public() -> Iterator[tuple[str, object]]:
    """Everything that `windlass` exports, its members, and the verbs of every noun."""
    for name in sorted(set(windlass.__all__) - NO_CLASS_OR_FUNCTION):
        found: Any = getattr(windlass, name)
        yield name, found
        if isinstance(found, types.ModuleType):
            yield from ((f"{name}.{word}", getattr(found, word)) for word in found.__all__)
        elif inspect.isclass(found):
            yield from members(name, found)
    for name, noun in vars(AsyncClient("http://x")).items():
        if isinstance(noun, Noun):
            yield f"client.{name}", type(noun)
            yield from members(f"client.{name}", type(noun))


def members(name: str, kind: type) -> Iterator[tuple[str, object]]:
    for parent in kind.__mro__:
        if parent.__module__.partition(".")[0] != "windlass":
            continue
        for word, found in vars(parent).items():
            inner = behind(found)
            if not word.startswith("_") and inspect.isroutine(inner):
                yield f"{name}.{word}", inner


def behind(found: Any) -> Any:
    match found:
        case property():
            return found.fget
        case cached_property():
            return found.func
        case Blocking() | Listed() | Streamed():
            return found.method
        case classmethod() | staticmethod():
            return found.__func__
        case _:
            return found


def is_sentence(text: str | None) -> bool:
    """Begins with a capital or code, ends with a full stop, and has more than one word."""
    first = inspect.cleandoc(text or "").partition("\n\n")[0].strip()
    return bool(re.fullmatch(r"[A-Z`*].* .*[.:…?]", first, re.DOTALL))


def test_everything_public_has_a_docstring_that_is_a_sentence() -> None:
    seen = list(public())
    assert len(seen) > 300
    silent = [name for name, found in seen if not is_sentence(own_words(found))]
    assert silent == []


def own_words(found: object) -> str | None:
    """Not those of a parent, nor what dataclass and TypedDict make up."""
    words = vars(found).get("__doc__") if inspect.isclass(found) else found.__doc__
    return words if isinstance(words, str) else None


@pytest.mark.parametrize("text", [None, "", "Names", "lower case is none.", "No full stop"])
def test_what_is_no_sentence_is_found(text: str | None) -> None:
    assert not is_sentence(text)


app = windlass.App("shop")


@app.task
def send_mail(to: str, subject: str = "hi") -> str:
    return to + subject


@app.task
async def digest() -> None: ...


def test_what_one_sees_at_a_prompt() -> None:
    assert repr(app) == "<App shop: 2 tasks>"
    assert repr(windlass.App("empty")) == "<App empty: 0 tasks>"
    assert repr(send_mail) == "<Task send_mail(to, subject)>"
    assert repr(digest) == "<AsyncTask digest()>"
    assert repr(windlass.Handle(app, "job_1", str)) == "<Handle job_1>"
    assert repr(windlass.Handles(app, ["job_1", "job_2"], str)) == "<Handles of 2 jobs>"
    assert repr(windlass.ExecutionHandle(app, "exe_1")) == "<ExecutionHandle exe_1>"
    job = {"id": "job_1", "state": "succeeded", "task": "send_mail", "target": None}
    assert repr(windlass.Job(job)) == "<Job job_1 succeeded send_mail>"
    execution = {"id": "exe_1", "state": "running", "workflow": "fulfil"}
    assert repr(windlass.Execution(execution)) == "<Execution exe_1 running fulfil>"


@pytest.mark.parametrize("kind", [windlass.Client, windlass.AsyncClient])
def test_a_client_shows_where_it_leads_and_no_token(kind: type) -> None:
    signed_in = kind("http://user:word@127.0.0.1:5777/below")
    assert repr(signed_in) == f"<{kind.__name__} http://127.0.0.1:5777/below>"
    made = kind("http://127.0.0.1:5777/below", token="wlk_secret")
    assert repr(made) == f"<{kind.__name__} http://127.0.0.1:5777/below>"
    lock = made.lock("deploy")
    assert repr(lock) == f"<{'Async' if kind is AsyncClient else ''}Lock deploy not held>"
