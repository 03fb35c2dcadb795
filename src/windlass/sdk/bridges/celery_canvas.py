"""Celery's own canvases (chain, `|`, group, chord, chunks, link, link_error) as jobs that depend on
each other.

    (add.s(2, 2) | double.s()).apply_async().get()               # 8
    chord(group(add.s(n, n) for n in range(10)))(total.s()).get()

    chain: a <- b <- c        group: a  b  c        chord: a  b  c  <- body
    link:  a <- callback      link_error: a <- errback, which runs whatever becomes of a

Celery builds the canvas; what is done here is what `apply_async` would do with it. `take_over` puts
itself before the `apply_async` of Celery's chain, group and chord, and hands on what is not for us:
canvases of applications without a bridge, and those whose tasks are all in queues of Celery.

Promises: a canvas is submitted in one request, all its jobs or none; whoever started it may die.
The result of what stands before comes first among the arguments, as with Celery; a signature that
is immutable (`.si`) only waits. A canvas that spans queues of Windlass and of Celery is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Union

from celery import canvas
from celery.result import AsyncResult

from windlass.limits import PARENTS_MAX
from windlass.sdk.bridges.celery_result import GroupResult, Result

if TYPE_CHECKING:
    from windlass.sdk.bridges.celery import Bridge

# Where the last jobs of a step are among those of a plan: of a task its place, of a group a list.
Shape: TypeAlias = Union[int, "list[Shape]"]
# What a task is given of the results of those above it: one, all as a list, all as nested lists
# whose numbers count them, or the failure of the one above.
Takes: TypeAlias = str | list[Any]

# A signature's own book-keeping, once Celery has frozen it.
_CELERYS_OWN: Final = frozenset(
    {"root_id", "parent_id", "reply_to", "group_id", "group_index", "chord", "chain"}
)
# What is of a canvas as a whole, and not of each of its tasks.
_OF_CANVAS: Final = frozenset({"task_id", "link", "link_error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is said of a step from outside of it."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[Any, ...] = ()
    errbacks: tuple[Any, ...] = ()
    is_body: bool = False  # of a chord: its errback is called for its header too


class SpansBoth(ValueError):
    """A canvas whose tasks are partly with Windlass and partly with Celery."""


class Plan:
    """Jobs to be submitted together; each knows by its place which ones stand above it."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._jobs: list[dict[str, Any]] = []
        self._above: list[list[int]] = []
        self._ids: list[str | None] = []  # task ids that the caller chose
        self._ignored: set[int] = set()  # those whose results nobody wants
        self._taken: set[int] = set()  # those whose results another one is given
        self._elsewhere: list[tuple[str, str]] = []  # tasks in queues of Celery, and those queues

    @property
    def is_celerys(self) -> bool:
        """None of it is for Windlass. Raises SpansBoth when only some of it is."""
        if self._elsewhere and len(self._jobs) > len(self._elsewhere):
            task, queue = self._elsewhere[0]
            raise SpansBoth(
                f"{task} goes to queue {queue!r}, which is still with Celery; "
                "a canvas cannot span both: bridge that queue too"
            )
        return bool(self._elsewhere)

    def submit(self, shape: Shape) -> Result | GroupResult:
        """Send them all; the result of what has this shape."""
        for place in self._ignored - self._taken:
            self._jobs[place]["input"]["args"][3]["ignore_result"] = True
        made: list[Result] = []
        jobs = self._bridge.blocking.jobs.submit_many(self._jobs) if self._jobs else []
        for place, job in enumerate(jobs):
            above = tuple(made[parent] for parent in self._above[place])
            is_ignored = place in self._ignored and place not in self._taken
            made.append(
                Result(self._bridge, job["id"], above, task_id=self._ids[place], ignored=is_ignored)
            )
        return _results(shape, made)

    def add(self, step: Any, above: Shape | None, said: Said) -> Shape:
        """Where its last jobs are, when its first stand below `above`."""
        match canvas.maybe_signature(step, app=self._bridge.celery):
            case canvas._chain() as found:
                return self._chain(found, above, said)
            case (canvas.group() | canvas.chunks()) as found:
                return self._group(found, above, said)
            case canvas._chord() as found:
                return self._chord(found, above, said)
            case canvas.Signature(task="celery.chunks") as found:
                # What Celery's clone makes of chunks.
                return self._group(canvas.chunks.from_dict(found), above, said)
            case canvas.Signature() as found:
                return self.call(found, above, said)
            case _:
                raise ValueError(f"a canvas holds signatures such as add.s(1, 2), not {step!r}")

    def call(self, signature: Any, above: Shape | None, said: Said) -> int:
        """One task, with its callbacks below it."""
        found = signature.clone(said.args, said.kwargs, **said.options)
        options = {name: v for name, v in found.options.items() if name not in _CELERYS_OWN}
        links = _merged(options.pop("link", None), said.links)
        errbacks = _merged(options.pop("link_error", None), said.errbacks)
        args, takes = list(found.args or ()), _takes(above)
        if above == []:
            args = args if found.immutable else [[], *args]
        place = self.put(
            found.task,
            args,
            found.kwargs,
            options,
            above=_places(above),
            takes="none" if found.immutable else takes,
        )
        for link in links:
            self.add(link, place, Said())
        for errback in errbacks:
            self._errback(errback, place, is_body=said.is_body)
        return place

    def put(
        self,
        name: str,
        args: Any,
        kwargs: Any,
        options: Mapping[str, Any],
        *,
        above: list[int],
        takes: Takes,
        **beside: Any,
    ) -> int:
        """One job. `beside`: for the node that performs it."""
        place = len(self._jobs)
        queue = self._bridge.queue_of(name, args, kwargs, options)
        if self._bridge.takes(queue):
            said = {**options, "queue": queue}
            job = self._bridge.job_of(name, args, kwargs, said, takes=takes, **beside)
        else:
            job = {}
            self._elsewhere.append((name, queue))
        if above:
            _check_parents(name, above)
            job["depends_on"] = [f"#{parent}" for parent in above]
        if takes == "failure":
            job["on_parent_failure"] = "run"
        elif takes != "none":
            self._taken.update(above)
        if options.get("ignore_result"):
            self._ignored.add(place)
        self._jobs.append(job)
        self._above.append(above)
        self._ids.append(options.get("task_id"))
        return place

    def _chain(self, chain: Any, above: Shape | None, said: Said) -> Shape:
        steps = _steps(chain)
        if not steps:
            raise ValueError("a chain has at least one step")
        options = {**chain.options, **said.options}
        first = {name: v for name, v in options.items() if name not in _OF_CANVAS}
        last = {"task_id": options["task_id"]} if options.get("task_id") else {}
        links = _merged(options.get("link"), said.links)
        errbacks = _merged(options.get("link_error"), said.errbacks)
        args = said.args if chain.immutable else (*said.args, *(chain.args or ()))
        for number, step in enumerate(steps):
            is_first, is_last = number == 0, number == len(steps) - 1
            above = self.add(
                step,
                above,
                Said(
                    args=args if is_first else (),
                    kwargs=said.kwargs if is_first else {},
                    options={**(first if is_first else {}), **(last if is_last else {})},
                    links=links if is_last else (),
                    errbacks=errbacks,
                    is_body=said.is_body and is_first,
                ),
            )
        assert above is not None
        return above

    def _group(self, group: Any, above: Shape | None, said: Said) -> list[Shape]:
        if isinstance(group, canvas.chunks):
            group = group.group()
        options = {**group.options, **said.options}
        options = {name: v for name, v in options.items() if name not in _OF_CANVAS}
        made: list[Shape] = []
        for number, member in enumerate(group.tasks):
            # Celery links a group by its first task, which only tells that one's end.
            links = [link.clone(immutable=True) for link in _signatures(said.links)]
            each = replace(said, options=options, links=() if number else tuple(links))
            shape = self.add(member, above, each)
            is_group = isinstance(member, canvas.group) or member["task"] == "celery.chunks"
            if is_group and isinstance(shape, list):
                made.extend(shape)
            else:
                made.append(shape)
        return made

    def _chord(self, chord: Any, above: Shape | None, said: Said) -> Shape:
        body = said.kwargs.get("body") or chord.body
        if body is None:
            raise ValueError("a chord needs a body: chord(header)(body)")
        options = {**chord.options, **said.options}
        of_body = {name: v for name, v in options.items() if name not in ("countdown", "eta")}
        links = _merged(of_body.pop("link", None), said.links)
        errbacks = _merged(of_body.pop("link_error", None), said.errbacks)
        kwargs = {name: v for name, v in said.kwargs.items() if name != "body"}
        of_header = {name: v for name, v in options.items() if name not in _OF_CANVAS}
        in_header = self._bridge.celery.conf.task_allow_error_cb_on_chord_header
        args = said.args if chord.immutable else (*said.args, *(chord.args or ()))
        header = self._group(
            canvas.group(chord.tasks, app=self._bridge.celery),
            above,
            Said(
                args=args,
                kwargs={**chord.kwargs.get("kwargs", {}), **kwargs},
                options=of_header,
                errbacks=errbacks if in_header else (),
            ),
        )
        return self.add(
            body, header, Said(options=of_body, links=links, errbacks=errbacks, is_body=True)
        )

    def _errback(self, errback: Any, place: int, *, is_body: bool) -> None:
        found = canvas.maybe_signature(errback, app=self._bridge.celery)
        if not isinstance(found, canvas.Signature) or isinstance(
            found, canvas._chain | canvas.group | canvas._chord
        ):
            raise ValueError("link_error takes the signature of one task; start more from there")
        options = {name: v for name, v in found.options.items() if name not in _CELERYS_OWN}
        self.put(
            found.task,
            found.args,
            found.kwargs,
            options,
            above=[place],
            takes="failure",
            is_immutable=bool(found.immutable),
            is_body=is_body,
        )


def take_over() -> None:
    """From now on canvases of bridged applications are ours, where their queues are."""
    for kind in (canvas._chain, canvas.group, canvas._chord):
        if not hasattr(kind.apply_async, "celerys"):
            kind.apply_async = _door(kind.apply_async)
    if not hasattr(AsyncResult.__init__, "celerys"):
        AsyncResult.__init__ = _refuse_ours(AsyncResult.__init__)


def _door(celerys: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(celerys)
    def apply_async(
        self: Any, args: Any = None, kwargs: Any = None, *more: Any, **options: Any
    ) -> Any:
        bridge = _bridge_of(self)
        if bridge is None or bridge.celery.conf.task_always_eager or more:
            return celerys(self, args, kwargs, *more, **options)
        if isinstance(self, canvas.group):
            _refuse_links(options)
        plan = Plan(bridge)
        said = {name: v for name, v in options.items() if v is not None}
        shape = plan.add(
            self, None, Said(args=tuple(args or ()), kwargs=dict(kwargs or {}), options=said)
        )
        if plan.is_celerys:
            return celerys(self, args, kwargs, **options)
        return plan.submit(shape)

    apply_async.celerys = celerys  # type: ignore[attr-defined]
    return apply_async


def _refuse_ours(celerys: Callable[..., None]) -> Callable[..., None]:
    """Celery's result backend knows nothing of a job, and would say PENDING for ever."""

    @functools.wraps(celerys)
    def init(self: Any, id: Any, *args: Any, **kwargs: Any) -> None:  # noqa: A002 (as Celery's)
        if isinstance(id, str) and id.startswith("job_"):
            raise ValueError(
                f"{id} is a job of Windlass, of which Celery's result backend knows nothing; ask "
                "app.AsyncResult(id) of the Celery application that is bridged"
            )
        celerys(self, id, *args, **kwargs)

    init.celerys = celerys  # type: ignore[attr-defined]
    return init


def _refuse_links(options: Mapping[str, Any]) -> None:
    """In Celery's own words."""
    if options.get("link") is not None:
        raise TypeError("Cannot add link to group: use a chord")
    if options.get("link_error") is not None:
        raise TypeError("Cannot add link to group: do that on individual tasks")


def _bridge_of(found: Any) -> Bridge | None:
    """Of the application of its first task. None: that has none."""
    for leaf in _leaves(found):
        bridge: Bridge | None = getattr(leaf.app, "windlass", None)
        return bridge
    return None


def _leaves(found: Any) -> Iterator[Any]:
    if isinstance(found, canvas._chain | canvas.group | canvas._chord):
        for member in found.tasks:
            yield from _leaves(member)
        if isinstance(found, canvas._chord) and found.body is not None:
            yield from _leaves(found.body)
    elif isinstance(found, canvas.Signature):
        yield found


def _steps(chain: Any) -> list[Any]:
    """As Celery unrolls them: a group of one is its task, and an empty one is nothing as long as
    there is something else.
    """
    listed = list(chain.tasks)
    sizes = [len(list(s.tasks)) if isinstance(s, canvas.group) else None for s in listed]
    steps = [
        next(iter(step.tasks)) if size == 1 else step
        for step, size in zip(listed, sizes, strict=True)
        if size != 0
    ]
    return steps or listed[:1]


def _signatures(given: tuple[Any, ...]) -> Iterator[Any]:
    return (canvas.maybe_signature(one) for one in given)


def _merged(own: Any, more: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both, and each once."""
    listed = [] if own is None else list(own) if isinstance(own, list | tuple) else [own]
    return (*listed, *(one for one in more if one not in listed))


def _takes(above: Shape | None) -> Takes:
    if above is None or above == []:
        return "none"
    if isinstance(above, int):
        return "one"
    if all(isinstance(one, int) for one in above):
        return "many"
    return _numbered(above, iter(range(len(_places(above)))))


def _numbered(shape: list[Shape], numbers: Iterator[int]) -> list[Any]:
    return [_numbered(s, numbers) if isinstance(s, list) else next(numbers) for s in shape]


def _places(shape: Shape | None) -> list[int]:
    if shape is None:
        return []
    return [shape] if isinstance(shape, int) else [place for one in shape for place in _places(one)]


def _check_parents(name: str, above: list[int]) -> None:
    if len(above) > PARENTS_MAX:
        raise ValueError(
            f"{name} would wait for {len(above)} tasks, and a job waits for at most {PARENTS_MAX}; "
            "make fewer of them with task.chunks(…), or a chord of chords"
        )


def _results(shape: Shape, made: list[Result]) -> Result | GroupResult:
    if isinstance(shape, int):
        return made[shape]
    return GroupResult(tuple(_results(one, made) for one in shape))
