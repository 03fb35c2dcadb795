"""Chains, groups and chords of Celery signatures, as jobs that depend on each other.

    from windlass.sdk.bridges.celery import chain, chord, group      # instead of celery's own

    chain(add.s(2, 2), double.s()).apply_async().get()               # 8
    chord(group(add.s(n, n) for n in range(10)))(total.s()).get()

    chain: a <- b <- c        group: a  b  c        chord: a  b  c  <- body

Promises: a canvas is submitted in one request, all its jobs or none; whoever started it may die.
The result of what stands before comes first among the arguments, as with Celery; a signature that
is immutable (`.si`) only waits. A canvas that spans queues of Windlass and of Celery is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from celery import canvas

from windlass.sdk.bridges.celery_result import GroupResult, Result

if TYPE_CHECKING:
    from windlass.sdk.bridges.celery import Bridge

Step: TypeAlias = Any  # a signature, or a canvas of ours or of Celery's
# What a task is given of the results of those above it.
Takes: TypeAlias = Literal["none", "one", "many"]
# A signature's own book-keeping, once Celery has frozen it.
_CELERYS_OWN: Final = frozenset(
    {"task_id", "root_id", "parent_id", "reply_to", "group_id", "group_index"}
)


class chain:  # noqa: N801 (as Celery calls it)
    """One after the other; a group in it is waited for as a whole."""

    def __init__(self, *steps: Step) -> None:
        given = _listed(steps)
        self.steps = [part for step in given for part in _parts_of(step)]

    def apply_async(self, args: Iterable[Any] = (), **options: Any) -> Any:
        """`args` come first in the first step, and the options are for that."""
        if not self.steps:
            raise ValueError("a chain has at least one step")
        plan = Plan(_bridge_of(self.steps[0]))
        last = plan.add(self.steps, (), tuple(args), options)
        results = plan.submit()
        made = tuple(results[place] for place in last)
        return GroupResult(made) if isinstance(self.steps[-1], group) else made[0]

    def delay(self, *args: Any) -> Any:
        return self.apply_async(args)

    __call__ = delay


class group:  # noqa: N801
    """Side by side."""

    def __init__(self, *members: Step) -> None:
        self.members = [one for member in _listed(members) for one in _members_of(member)]

    def apply_async(self, args: Iterable[Any] = (), **options: Any) -> GroupResult:
        if not self.members:
            return GroupResult(())
        found: GroupResult = chain(self).apply_async(args, **options)
        return found

    def delay(self, *args: Any) -> GroupResult:
        return self.apply_async(args)

    __call__ = delay


class chord:  # noqa: N801
    """A group, and then a body that is given all its results as one list."""

    def __init__(self, header: Step, body: Step | None = None) -> None:
        self.header = header if isinstance(header, group) else group(header)
        self.body = body

    def apply_async(self, args: Iterable[Any] = (), **options: Any) -> Any:
        if self.body is None:
            raise ValueError("a chord needs a body: chord(header)(body)")
        return chain(self.header, self.body).apply_async(args, **options)

    def __call__(self, body: Step | None = None) -> Any:
        return chord(self.header, body if body is not None else self.body).apply_async()


class Plan:
    """Jobs to be submitted together; each knows by its place which ones stand above it."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._jobs: list[dict[str, Any]] = []
        self._above: list[Sequence[int]] = []

    def put(self, job: dict[str, Any], above: Sequence[int] = ()) -> int:
        if above:
            job["depends_on"] = [f"#{place}" for place in above]
        self._jobs.append(job)
        self._above.append(above)
        return len(self._jobs) - 1

    def add(
        self,
        steps: Iterable[Any],
        above: Sequence[int],
        args: tuple[Any, ...] = (),
        options: dict[str, Any] | None = None,
    ) -> Sequence[int]:
        """The places of the last step, when the first stands below `above`."""
        is_many = False
        for step in steps:
            members = step.members if isinstance(step, group) else [step]
            takes: Takes = "none" if not above else "many" if is_many else "one"
            above = [
                self.put(self._job(each, takes, args, options or {}), above) for each in members
            ]
            is_many, args, options = isinstance(step, group), (), None
        return above

    def submit(self) -> list[Result]:
        made: list[Result] = []
        ids = self._bridge.blocking.jobs.submit_many(self._jobs)
        for job, above in zip(ids, self._above, strict=True):
            made.append(Result(self._bridge, job["id"], tuple(made[place] for place in above)))
        return made

    def _job(
        self, each: Any, takes: Takes, args: tuple[Any, ...], options: dict[str, Any]
    ) -> dict[str, Any]:
        said = {n: v for n, v in {**each.options, **options}.items() if n not in _CELERYS_OWN}
        queue = self._bridge.queue_of(each.task, each.args, each.kwargs, said)
        if not self._bridge.takes(queue):
            raise ValueError(
                f"{each.task} goes to queue {queue!r}, which is still with Celery; "
                "a canvas cannot span both: bridge that queue too"
            )
        given = each.args if each.immutable else (*args, *each.args)
        return self._bridge.job_of(
            each.task,
            given,
            each.kwargs,
            {**said, "queue": queue},
            takes="none" if each.immutable else takes,
        )


def _parts_of(step: Step) -> list[Any]:
    """A step of a chain as signatures and groups."""
    match step:
        case chain():
            return list(step.steps)
        case group():
            return [step]
        case chord():
            return [step.header, *([] if step.body is None else _parts_of(step.body))]
        case canvas._chain():
            return [part for inner in step.tasks for part in _parts_of(inner)]
        case canvas.group() | canvas.chunks():
            return [group(step)]
        case canvas._chord():
            return [group(*_listed((step.tasks,))), *_parts_of(step.body)]
        case _:
            return [_signature(step)]


def _members_of(found: Any) -> list[Any]:
    """Chunks are a group already, and Celery's group in one of ours is part of it."""
    if isinstance(found, canvas.chunks):
        found = found.group()
    if isinstance(found, canvas.group):
        return [one for member in found.tasks for one in _members_of(member)]
    return [_signature(found)]


def _signature(found: Any) -> Any:
    if isinstance(found, chain) and len(found.steps) == 1:
        found = found.steps[0]
    is_plain = isinstance(found, canvas.Signature) and not isinstance(
        found, canvas._chain | canvas.group | canvas._chord
    )
    if not is_plain:
        raise ValueError(f"a group holds signatures such as add.s(1, 2), not {found!r}")
    return found


def _listed(given: tuple[Any, ...]) -> list[Any]:
    """`f(a, b)`, `f([a, b])` and `f(x for x in …)` are the same."""
    if len(given) == 1 and not isinstance(given[0], canvas.Signature | chain | group | chord):
        return list(given[0])
    return list(given)


def _bridge_of(step: Any) -> Bridge:
    first = step.members[0] if isinstance(step, group) else step
    found: Bridge | None = getattr(first.type.app, "windlass", None)
    if found is None:
        raise ValueError(f"{first.task}: its Celery application is not bridged; call bridge(…)")
    return found
