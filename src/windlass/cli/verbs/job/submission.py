"""The options of `windlass job submit` and the job object they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter

from windlass.cli.http.client import Client
from windlass.cli.http.whole_id import whole_ids
from windlass.cli.values import duration, json_object
from windlass.model.job.states import Priority

WHEN = Group("When", sort_key=10)
FAILING = Group("When it fails", sort_key=20)
ORDER = Group("After other jobs", sort_key=30)
NAMING = Group("To find it again", sort_key=40)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One job as it was typed. None or empty: not given, the server's default holds."""

    input: Annotated[
        str | None,
        Parameter(
            metavar="JSON|@FILE|-",
            allow_leading_hyphen=True,
            help="Input of the job: a JSON object, a file that holds one, or - for standard input.",
        ),
    ] = None
    queue: Annotated[str | None, Parameter(metavar="NAME", help="Queue to wait in.")] = None
    priority: Annotated[Priority | None, Parameter(help="How urgent it is.")] = None
    delay: Annotated[
        str | None,
        Parameter(group=WHEN, metavar="DURATION", help="Start no sooner than after 30s, 5m, 2h…"),
    ] = None
    run_at: Annotated[
        str | None,
        Parameter(group=WHEN, metavar="INSTANT", help="Start no sooner than 2030-01-31T12:00:00Z."),
    ] = None
    deadline: Annotated[
        str | None,
        Parameter(group=WHEN, metavar="INSTANT", help="Not started by then, it expires."),
    ] = None
    timeout: Annotated[
        str | None, Parameter(group=WHEN, metavar="DURATION", help="Longest time one try may take.")
    ] = None
    max_attempts: Annotated[
        int | None, Parameter(group=FAILING, metavar="N", help="Tries before it is dead.")
    ] = None
    retry: Annotated[
        str | None,
        Parameter(
            group=FAILING,
            metavar="JSON",
            help='The whole policy: {"max_attempts": 5, "initial": "1s", "factor": 2, "max": "5m"}',
        ),
    ] = None
    depends_on: Annotated[
        tuple[str, ...],
        Parameter(group=ORDER, metavar="JOB", help="Wait for this job to end; may be repeated."),
    ] = ()
    on_parent_failure: Annotated[
        str | None,
        Parameter(group=ORDER, metavar="skip|fail|run", help="What to do if one of them fails."),
    ] = None
    lock: Annotated[
        tuple[str, ...],
        Parameter(
            group=ORDER,
            metavar="NAME",
            help="Hold this lock from when it may start until it ends; may be repeated.",
        ),
    ] = ()
    limit: Annotated[
        tuple[str, ...],
        Parameter(
            group=ORDER,
            metavar="JSON",
            help='Keep to this limit: {"name": "api", "max_running": 4, "rate": 10}; '
            "may be repeated.",
        ),
    ] = ()
    key: Annotated[
        str | None,
        Parameter(group=NAMING, metavar="TEXT", help="Unique among the jobs that are kept."),
    ] = None
    unique_for: Annotated[
        str | None,
        Parameter(
            group=NAMING, metavar="DURATION", help="The key is its own for 30s, 5m, 2h, no longer."
        ),
    ] = None
    debounce: Annotated[
        str | None,
        Parameter(
            group=WHEN, metavar="DURATION", help="Start so long after the last one of its key."
        ),
    ] = None
    debounce_max: Annotated[
        str | None,
        Parameter(group=WHEN, metavar="DURATION", help="And no later than this after the first."),
    ] = None
    tag: Annotated[
        tuple[str, ...],
        Parameter(group=NAMING, metavar="TEXT", help="A word to filter by; may be repeated."),
    ] = ()
    correlation_id: Annotated[
        str | None, Parameter(group=NAMING, metavar="TEXT", help="Passed on to whatever it calls.")
    ] = None

    def body(self, kind: str, client: Client) -> dict[str, Any]:
        """The object that POST /v1/jobs takes."""
        given: dict[str, Any] = {
            "kind": kind,
            "input": None if self.input is None else json_object("--input", self.input),
            "queue": self.queue,
            "priority": self.priority,
            "delay": None if self.delay is None else duration(self.delay),
            "run_at": self.run_at,
            "deadline": self.deadline,
            "timeout": None if self.timeout is None else duration(self.timeout),
            "retry": self._policy(),
            "depends_on": whole_ids(client, "job", self.depends_on) or None,
            "on_parent_failure": self.on_parent_failure,
            "key": self.key,
            "tags": list(self.tag) or None,
            "correlation_id": self.correlation_id,
            "locks": list(self.lock) or None,
            "limits": [json_object("--limit", given) for given in self.limit] or None,
            "unique_for": None if self.unique_for is None else duration(self.unique_for),
            "debounce": None if self.debounce is None else duration(self.debounce),
            "debounce_max": None if self.debounce_max is None else duration(self.debounce_max),
        }
        return {name: value for name, value in given.items() if value is not None}

    def _policy(self) -> dict[str, Any] | None:
        policy = {} if self.retry is None else json_object("--retry", self.retry)
        if self.max_attempts is not None:
            policy["max_attempts"] = self.max_attempts
        return policy or None


AS_TYPED = Submission()
