"""The kinds of jobs that a node can perform, each with its strategy and its timeout.

Plugins may be replaced while the node works: attempts under way end with what they began with. What
becomes of each when they are loaded again is decided by `merge_plugins`, without doing it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from windlass import __version__
from windlass.engine.jobs.tasks import DescribedTask
from windlass.model.cluster.served import ServedQueues, ServedWork
from windlass.model.job.outcome import Failed
from windlass.model.job.submission import InputCheck
from windlass.strategies.plugins.description import (
    Description,
    app_of,
    describe_builtin,
    describe_plugin,
    describe_task,
)
from windlass.strategies.plugins.load import Plugin
from windlass.strategies.plugins.strategy import PluginStrategy
from windlass.strategies.python.task import Task
from windlass.strategies.strategy import Instant, Resizable, Strategy


def _no_plugins(*, is_again: bool) -> dict[str, Plugin]:
    return {}


@dataclass(slots=True, kw_only=True)
class Kinds:
    instant: Mapping[str, Instant]
    slotted: Mapping[str, Strategy]
    timeout_seconds: Mapping[str, float]  # of kinds with a setting of their own
    default_timeout_seconds: float
    # What each kind says about an input, for the door. The same object always: it changes within.
    checks: dict[str, InputCheck] = field(default_factory=dict)
    load: Callable[..., dict[str, Plugin]] = _no_plugins
    plugins: Mapping[str, Plugin] = field(default_factory=dict)  # those that are broken, too
    tasks: Mapping[str, Task] = field(default_factory=dict)  # of `python`
    _workers: int | None = None
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def names(self) -> list[str]:
        return sorted([*self.instant, *self.slotted])

    def described(self) -> list[Description]:
        own = [kind for kind in self.names if kind not in _working(self.plugins)]
        told = [describe_builtin(kind, __version__, self.tasks) for kind in own]
        return told + [describe_plugin(self.plugins[kind]) for kind in sorted(self.plugins)]

    def described_tasks(self) -> list[DescribedTask]:
        return [
            DescribedTask(name=name, app=app_of(task), description=_said_of(task))
            for name, task in self.tasks.items()
        ]

    async def load_plugins(self, *, is_again: bool) -> PluginChanges:
        """Take over what is installed now; attempts under way end with what they began with."""
        async with self._loading:
            found = await asyncio.to_thread(self.load, is_again=is_again)
            return self._plug(found)

    def _plug(self, found: Mapping[str, Plugin]) -> PluginChanges:
        before = _working(self.plugins)
        self.plugins, replaced = merge_plugins(self.plugins, found)
        after = _working(self.plugins)
        own = {kind: strategy for kind, strategy in self.slotted.items() if kind not in before}
        self.slotted = {**own, **after}
        self.checks.update({kind: strategy.check_input for kind, strategy in after.items()})
        for kind, strategy in before.items():
            if kind not in after:
                del self.checks[kind]
            if after.get(kind) is not strategy:
                strategy.retire()
        if self._workers is not None:
            self.resize(self._workers)
        return replaced

    def served(self, queues: ServedQueues) -> ServedWork:
        """What a claim may take for a node of these kinds that serves `queues`."""
        return ServedWork(queues=queues, kinds=self.names, tasks=list(self.tasks))

    def perform(self, kind: str, task: str | None) -> bool:
        """Is there a strategy, and of `python` the task?"""
        is_known = kind in self.instant or kind in self.slotted
        return is_known and (task is None or task in self.tasks)

    def unknown(self, kind: str) -> Failed:
        """How an attempt ends that this node cannot perform."""
        said = f"this node cannot perform kind {kind!r}"
        if (plugin := self.plugins.get(kind)) is not None:
            said += f": its plugin could not be loaded: {plugin.error}"
        return Failed("unknown_kind", said)

    def resize(self, workers: int) -> None:
        """Keep ready no more than so many slots need. Only what is idle is closed."""
        self._workers = workers
        for strategy in self.slotted.values():
            if isinstance(strategy, Resizable):
                strategy.resize(workers)

    async def close(self) -> None:
        for strategy in self.slotted.values():
            await strategy.close()


def _said_of(task: Task) -> dict[str, Any]:
    """Read from the user's code: whatever that does, the node starts."""
    try:
        return describe_task(task)
    except Exception:
        return {}


def merge_plugins(
    before: Mapping[str, Plugin], found: Mapping[str, Plugin]
) -> tuple[dict[str, Plugin], PluginChanges]:
    """The plugins to go on with. A broken one leaves the strategy that it had before."""
    after: dict[str, Plugin] = {}
    for kind, plugin in found.items():
        known = before.get(kind)
        if plugin.strategy is None and known is not None and known.strategy is not None:
            plugin = replace(known, error=plugin.error)
        after[kind] = plugin
    works = {kind for kind, plugin in after.items() if plugin.strategy is not None}
    worked = {kind for kind, plugin in before.items() if plugin.strategy is not None}
    return after, PluginChanges(
        added=sorted(works - worked),
        changed=sorted(
            kind for kind in works & worked if after[kind].digest != before[kind].digest
        ),
        removed=sorted(worked - works),
        errors={kind: plugin.error for kind, plugin in after.items() if plugin.error is not None},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginChanges:
    """The kinds of plugins, by what became of them."""

    added: list[str]
    changed: list[str]  # loaded from other code than before
    removed: list[str]
    errors: dict[str, str]  # why one could not be loaded; the one before it goes on


def _working(plugins: Mapping[str, Plugin]) -> dict[str, PluginStrategy]:
    """One that has taken a name of ours is broken, and so not among them."""
    return {
        kind: plugin.strategy for kind, plugin in plugins.items() if plugin.strategy is not None
    }
