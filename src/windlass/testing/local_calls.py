"""Which tasks the node has called with what, and what answers instead of them.

Every task that a test's node performs goes through here. Argument conversion, retries, timeouts
and the encoding of results stay the real ones; a fake replaces the function alone.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self

from windlass.strategies.python.task import Task

Call = tuple[tuple[Any, ...], dict[str, Any]]
Raised = BaseException | type[BaseException] | None


class Fake:
    """What answers instead of a task, until it is removed; `with` removes it at the end."""

    def __init__(
        self, task: str, returns: Any, raises: Iterable[Raised], remove: Callable[[Fake], None]
    ) -> None:
        self.task = task
        self.calls: list[Call] = []
        self._returns = returns
        self._raises = deque(raises)
        self._remove = remove

    def remove(self) -> None:
        self._remove(self)

    def answer(self, call: Call) -> Any:
        self.calls.append(call)
        raised = self._raises.popleft() if self._raises else None
        if raised is not None:
            raise raised
        return self._returns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Calls:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, list[Call]] = {}
        self._fakes: dict[str, list[Fake]] = {}  # of a task, the newest last

    def of(self, task: str) -> list[Call]:
        with self._lock:
            return list(self._calls.get(task, ()))

    def fake(self, task: str, returns: Any, raises: Iterable[Raised]) -> Fake:
        made = Fake(task, returns, raises, self._remove)
        with self._lock:
            self._fakes.setdefault(task, []).append(made)
        return made

    def wired(self, task: Task) -> Task:
        """The task as the node gets it. In this process even if it asks for one of its own: there
        no fake would be seen, and no call be counted.
        """
        function = task.function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            fake = self._note(task.name, (args, kwargs))
            return function(*args, **kwargs) if fake is None else fake.answer((args, kwargs))

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            fake = self._note(task.name, (args, kwargs))
            return await function(*args, **kwargs) if fake is None else fake.answer((args, kwargs))

        return replace(task, function=call_async if task.is_async else call, is_isolated=False)

    def _note(self, task: str, call: Call) -> Fake | None:
        with self._lock:
            self._calls.setdefault(task, []).append(call)
            fakes = self._fakes.get(task)
            return fakes[-1] if fakes else None

    def _remove(self, fake: Fake) -> None:
        with self._lock:
            fakes = self._fakes.get(fake.task, [])
            if fake in fakes:
                fakes.remove(fake)
