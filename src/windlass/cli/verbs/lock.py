"""`windlass lock …`: take named locks and semaphores, and see who holds them."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import App, Parameter

from windlass.cli.exits import Exit, Stopped
from windlass.cli.http.client import Answer, Client, segment
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.http.problem import Refused
from windlass.cli.limits import CALL_SECONDS, POLL_GRACE_SECONDS
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.output import show_line
from windlass.cli.show.table import Column, columns, prose
from windlass.cli.values import duration, seconds
from windlass.clock import monotonic
from windlass.limits import PAGE_DEFAULT, WAIT_SECONDS_MAX

Name = Annotated[str, Parameter(metavar="NAME", help="Name of the lock.")]
Token = Annotated[int, Parameter(metavar="TOKEN", help="Of the hold, as acquire showed it.")]
Ttl = Annotated[
    str | None, Parameter(metavar="DURATION", help="Hold it so long from now on; 30s unless said.")
]
HELD = columns("name", "token", "expires_at", "capacity")


def _who(holder: Mapping[str, Any]) -> str:
    return str(holder.get("job_id") or holder.get("owner") or "a caller")


def _names(field: str) -> Any:
    def take(lock: Mapping[str, Any]) -> str | None:
        return ", ".join(_who(one) for one in lock.get(field) or ()) or None

    return take


def _waiting(lock: Mapping[str, Any]) -> Any:
    return f"{lock['waiting']}+" if lock.get("waiting_more") else lock.get("waiting")


ROW = (
    *columns("name", "held", "capacity"),
    Column(title="waiting", take=_waiting),
    *columns("token"),
    prose("holders", _names("holders")),
)
PAGE = (
    *columns("name", "held", "capacity"),
    Column(title="waiting", take=_waiting),
    *columns("token", "changed_at"),
    Column(title="holders", take=_names("holders")),
    Column(title="waiters", take=_names("waiters")),
)

app = App(name="lock", help="Take named locks and semaphores; see who holds them.")


@app.command
def ls(*, limit: Limit = PAGE_DEFAULT, everything: All = False, reading: Reading = READ) -> None:
    """List locks by name."""
    limit_or_all = None if everything else limit
    none = "no lock was taken lately"
    show_list(reading, "/v1/locks", {}, ROW, limit=limit_or_all, none=none)


@app.command
def get(name: Name, /, *, reading: Reading = READ) -> None:
    """Show one lock: who holds it, and who waits for it."""
    with reading.client() as client:
        show_one(reading, client.get(_path(name)), PAGE)


@app.command
def acquire(
    name: Name,
    /,
    *,
    ttl: Ttl = None,
    wait: Annotated[
        str | None,
        Parameter(
            metavar="[DURATION]",
            help="Wait for it; with 20s no longer than that (exit code 7 then).",
        ),
    ] = None,
    capacity: Annotated[
        int | None, Parameter(metavar="N", help="So many may hold it at once, if it is new.")
    ] = None,
    reading: Reading = READ,
) -> None:
    """Take a lock; it is held until released, or until its time runs out.

    -o id gives the token alone. Exit code 5 when it is taken and there is no --wait.
    """
    body = {"ttl": None if ttl is None else duration(ttl), "capacity": capacity}
    with reading.client() as client:
        answer = _take(client, name, body, wait)
    if reading.output == "id":
        show_line(str(answer.value["token"]))
    else:
        show_one(reading, answer, HELD)


@app.command
def renew(name: Name, token: Token, /, *, ttl: Ttl = None, reading: Reading = READ) -> None:
    """Hold a lock for longer; exit code 5 when the token holds it no more."""
    body = {"token": token, "ttl": None if ttl is None else duration(ttl)}
    with reading.client() as client:
        show_one(reading, client.put(_path(name), body), HELD[:3])


@app.command
def release(name: Name, token: Token, /, *, server: Server = SERVED) -> None:
    """Give a lock back; exit code 5 when the token holds it no more, or never did."""
    with server.client() as client:
        client.delete(f"{_path(name)}?token={token}")
    show_line(f"{name} released")


@app.command
def resize(
    name: Name,
    capacity: Annotated[int, Parameter(metavar="N", help="So many may hold it at once.")],
    /,
    *,
    reading: Reading = READ,
) -> None:
    """Set how many may hold a lock at once; whoever is inside stays."""
    with reading.client() as client:
        show_one(reading, client.patch(_path(name), {"capacity": capacity}), PAGE)


def _take(client: Client, name: str, body: dict[str, Any], wait: str | None) -> Answer:
    """One call, or as many as the wait is long: the server holds each for a minute at most."""
    # Without a time the parser's word for "just so" comes (see launch.py): until it is there.
    longest = 0.0 if wait is None else math.inf if wait == "yes" else seconds("--wait", wait)
    until = monotonic() + longest
    # A call whose answer was lost and that is made again is the same call.
    key = str(uuid.uuid4())
    while True:
        left = min(max(0.0, until - monotonic()), WAIT_SECONDS_MAX)
        asked = {**body, "wait": round(left, 3)}
        try:
            return client.post(
                _path(name), asked, key, seconds=left + max(CALL_SECONDS, POLL_GRACE_SECONDS)
            )
        except Refused as refused:
            if refused.problem_code != "lock_held" or wait is None:
                raise
            if monotonic() >= until:
                raise Stopped(str(refused), Exit.TIMED_OUT) from None


def _path(name: str) -> str:
    return f"/v1/locks/{segment(name)}"
