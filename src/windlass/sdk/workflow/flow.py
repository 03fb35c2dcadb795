"""The words of workflows as code, beside `task.step(…)` and `task.map(…)`.

    with flow.when(paid.out["risk"] > 0.8):
        ok = flow.approval("Risky order", timeout="48h")

Each belongs inside a function with `@app.workflow`; docs/workflows-as-code.md shows them all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from windlass.sdk.tasks.options import Duration
from windlass.sdk.workflow.block import Case, Switch, When
from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.render import rendered
from windlass.sdk.workflow.step import After, End, Step, afters_of
from windlass.sdk.workflow.trace import current_trace
from windlass.sdk.workflow.value import CHOICE, OR, Value, value_of
from windlass.sdk.workflow.work import INDEX, ITEM, Work, written_duration

__all__ = [
    "CannotTrace",
    "Case",
    "End",
    "Step",
    "Switch",
    "Value",
    "Work",
    "approval",
    "cel",
    "choose",
    "execution",
    "fail",
    "has",
    "http",
    "index",
    "item",
    "limit",
    "noop",
    "pause",
    "run",
    "signal",
    "switch",
    "transform",
    "var",
    "when",
    "work",
]

# In the work of a map: its item, and that one's index. `each=` is often the clearer way.
item: Final = ITEM
index: Final = INDEX
# The execution itself: execution["id"], ["workflow"], ["version"], ["created_at"].
execution: Final = Value("execution")

_PATH: Final = re.compile(r"\w+(?:\.\w+|\[\w+\])*")
Join = int | Literal["all", "any"] | None


def when(condition: object) -> When:
    """`with when(…):` the steps in it run only if it holds."""
    return When(condition)


def switch(*, after: After = None) -> Switch:
    """`with switch() as way:` and in it `with way.case(…):` and `with way.default():`."""
    return Switch(after)


def approval(
    title: str,
    *,
    form: Mapping[str, Any] | None = None,
    timeout: Duration | None = None,
    after: After = None,
    join: Join = None,
) -> Step[dict[str, Any]]:
    """A person decides; rejected, it fails. Its output has approved, by, answer and comment."""
    given = {"title": title} | ({} if form is None else {"form": form})
    return _awaited("approval", given, "approval", timeout, after, join)


def signal(
    name: str, *, timeout: Duration | None = None, after: After = None, join: Join = None
) -> Step[Any]:
    """Waits for a signal of this name; one that came early was kept. Its output is the payload."""
    return _awaited("signal", {"name": name}, name, timeout, after, join)


def pause(
    duration: Duration | datetime | Value, *, after: After = None, join: Join = None
) -> Step[None]:
    """Lets time pass, or waits until an instant."""
    field = "until" if isinstance(duration, datetime) else "duration"
    given = duration if isinstance(duration, datetime | Value) else written_duration(duration)
    return work("wait", {field: given}).step(after=after, join=join)


def noop(*, after: After = None, join: Join = None) -> Step[None]:
    """Nothing, successfully: it joins what ran side by side."""
    return work("noop").step(after=after, join=join)


def transform(value: Any, *, after: After = None, join: Join = None) -> Step[Any]:
    """A value made of other values."""
    return work("transform", {"value": value}).step(after=after, join=join)


def fail(message: str, *, after: After = None, join: Join = None) -> Step[None]:
    """Stops with a reason."""
    return work("fail", {"message": message}).step(after=after, join=join)


def http(method: str, url: Any, **request: Any) -> Work[dict[str, Any]]:
    """A call of somebody's API: `.step()`, `.map(…)`, or given to `.undo(…)`."""
    return work("http", {"method": method, "url": url, **request})


def run(workflow: str, input: Any = None, *, version: int | None = None) -> Work[Any]:  # noqa: A002
    """Another workflow, by its name. One of the same app is run by `that.step(…)`."""
    given = {"workflow": workflow, "version": version, "input": input}
    return Work(
        kind="workflow",
        input={name: value for name, value in given.items() if value is not None},
        wish=workflow,
    )


def work(kind: str, input: Mapping[str, Any] | None = None) -> Work[Any]:  # noqa: A002
    """Work of any kind, a plugin's too."""
    return Work(kind=kind, input=input, wish=kind)


def cel(source: str) -> Value:
    """An expression in CEL: cel(f"size({order['lines']})")."""
    from windlass.model.expression import compile_expression
    from windlass.sdk.workflow.literal import parts_of

    parts = parts_of(source)
    text = "".join(
        f"({part})" if is_cel and not _PATH.fullmatch(part) else part for part, is_cel in parts
    )
    try:
        compile_expression(text)
    except ValueError as trouble:
        raise CannotTrace(f"{text!r} {trouble}") from None
    return Value(text, CHOICE)


def choose(condition: Value, then: Any, otherwise: Any) -> Value:
    """`then if condition else otherwise`."""
    first, second, third = value_of(condition), value_of(then), value_of(otherwise)
    one, two = (part.cel if part.level >= OR else f"({part.cel})" for part in (first, second))
    return Value(f"{one} ? {two} : {third.cel}", CHOICE)


def has(value: Value) -> Value:
    """Whether there is such a field: `has(order["note"])`."""
    return cel(f"has({value})")


def var(name: str) -> Value:
    """One of the `vars` of @app.workflow."""
    return Value("vars")[name]


def limit(
    key: Any, at_once: int = 1, policy: Literal["queue", "skip", "cancel_running", "fail"] = "queue"
) -> None:
    """So many executions with the same key at once; `policy` is for one more."""
    trace = current_trace("flow.limit")
    if trace.concurrency is not None:
        raise CannotTrace("a workflow has one limit; make its key of both")
    trace.concurrency = {"key": rendered(key), "limit": at_once, "policy": policy}


def _awaited(
    kind: str,
    given: Mapping[str, Any],
    wish: str,
    timeout: Duration | None,
    after: After,
    join: Join,
) -> Step[Any]:
    body: dict[str, Any] = {"kind": kind, "input": rendered(given)}
    if timeout is not None:
        body["timeout"] = written_duration(timeout)
    trace = current_trace(f"windlass.{kind}")
    return Step(trace, wish, body, after=afters_of(after), join=join)
