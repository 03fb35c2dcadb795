"""`windlass target …`: whom webhooks call; rate limits, circuit breakers, enable and disable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Client, segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.http.problem import Refused
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.output import say, show_json, show_json_line, show_line
from windlass.cli.show.table import Column, columns, instant, spare
from windlass.cli.values import duration, limit_or_none
from windlass.limits import PAGE_DEFAULT

Host = Annotated[
    str, Parameter(metavar="HOST", help="Host of the target, with its port unless that is 443.")
]
Cap = Annotated[str | None, Parameter(metavar="N|none")]
Span = Annotated[str | None, Parameter(metavar="DURATION|none")]
LIMITS: Final = ("rate", "max_running")
BREAKER: Final = ("failures", "rest", "rest_max")


def _breaker(name: str) -> Any:
    return lambda target: (target.get("breaker") or {}).get(name)


def _parked(target: Mapping[str, Any]) -> Any:
    return f"{target['parked']}+" if target.get("parked_more") else target.get("parked")


ROW = (
    *columns("host", "state"),
    Column(title="breaker", take=_breaker("state")),
    instant("open until", _breaker("open_until")),
    Column(title="parked", take=_parked),
    *spare("running", "max_running", "rate", "succeeded"),
    *columns("failed"),
    *spare("last_answer_at"),
)
PAGE = (
    *columns("host", "state", "disabled_at", "disabled_reason"),
    Column(title="breaker", take=_breaker("state")),
    instant("breaker opened", _breaker("opened_at")),
    instant("breaker open until", _breaker("open_until")),
    *(
        Column(title=f"breaker {name.replace('_', ' ')}", take=_breaker(name))
        for name in ("reason", "opens", *BREAKER)
    ),
    Column(title="parked", take=_parked),
    *columns("running", *LIMITS, "succeeded", "failed"),
    *columns("last_answer_at", "last_failure_at", "created_at"),
)

app = App(name="target", help="Show whom webhooks call; set limits, reset breakers, disable.")


@app.command
def ls(*, limit: Limit = PAGE_DEFAULT, everything: All = False, reading: Reading = READ) -> None:
    """List targets by host."""
    limit_or_all = None if everything else limit
    none = "nothing was delivered to anybody yet"
    show_list(reading, "/v1/targets", {}, ROW, limit=limit_or_all, none=none)


@app.command
def get(host: Host, /, *, reading: Reading = READ) -> None:
    """Show one target."""
    with reading.client() as client:
        show_one(reading, client.get(_path(host)), PAGE)


@app.command
def secret(
    host: Host,
    /,
    *,
    name: Annotated[
        str | None, Parameter(metavar="SECRET", help="Of this derived secret; webhook unless said.")
    ] = None,
    reading: Reading = READ,
) -> None:
    """Show what the receiver at this host verifies signatures with, newest first.

    There are two while a rotation overlaps. Hand it to whoever runs that host, and nobody else.
    """
    with reading.client() as client:
        answer = client.get(f"{_path(host)}/secret", {"name": name})
    match reading.output:
        case "json":
            show_json(answer.text)
        case "jsonl":
            show_json_line(answer.value)
        case "table" | "id":
            for one in answer.value["secrets"]:
                show_line(one)
    say(f"whoever knows it can sign for {answer.value['host']}")


@app.command(name="set")
def set_limits(
    host: Host,
    /,
    *,
    rate: Cap = None,
    max_running: Cap = None,
    failures: Cap = None,
    rest: Span = None,
    rest_max: Span = None,
    reading: Reading = READ,
) -> None:
    """Set limits of a target; what is not named stays as it is, `none` is the default.

    Parameters
    ----------
    rate
        Deliveries to it in a second, in the whole cluster.
    max_running
        Deliveries to it at the same time, in the whole cluster.
    failures
        So many in a row open its breaker; 0 means never.
    rest
        How long the breaker stays open the first time: 5s, 1m.
    rest_max
        How long at most, when it opens again and again.
    """
    limits = _typed({"rate": rate, "max_running": max_running})
    breaker = _typed({"failures": failures})
    for name, text in (("rest", rest), ("rest_max", rest_max)):
        if text is not None:
            breaker[name] = None if text == "none" else duration(text)
    if not limits and not breaker:
        raise BadUsage("say which limit, such as --max-running 5, or --max-running none")
    with reading.client() as client:
        # PUT sets all limits at once, so those not named are read and sent along.
        path, now = _as_it_is(client, host)
        body = {
            **{name: now.get(name) for name in LIMITS},
            **limits,
            "breaker": {**{name: _breaker(name)(now) for name in BREAKER}, **breaker},
        }
        show_one(reading, client.put(path, body), PAGE)


@app.command
def reset(*hosts: Host, server: Server = SERVED) -> int:
    """Close the breakers of these targets: their jobs go at once."""
    return _each(hosts, "reset", "the breaker of {} is closed", server)


@app.command
def enable(*hosts: Host, server: Server = SERVED) -> int:
    """Deliver to these targets again."""
    return _each(hosts, "enable", "{} enabled", server)


@app.command
def disable(
    *hosts: Host,
    reason: Annotated[
        str | None, Parameter(metavar="TEXT", help="Why; shown to whoever asks.")
    ] = None,
    server: Server = SERVED,
) -> int:
    """Deliver nothing more to these targets; their jobs wait."""
    return _each(hosts, "disable", "{} disabled", server, {"reason": reason} if reason else None)


def _typed(given: Mapping[str, str | None]) -> dict[str, Any]:
    return {
        name: limit_or_none(f"--{name.replace('_', '-')}", text)
        for name, text in given.items()
        if text is not None
    }


def _as_it_is(client: Client, host: str) -> tuple[str, dict[str, Any]]:
    """Where the target is and what is set. One that is not there yet has the defaults."""
    try:
        target = client.get(_path(host)).value
    except Refused as refused:
        if refused.code != Exit.NOT_FOUND:
            raise
        return _path(host), {}
    # A bare host may have meant its port 80: the server says whom it found.
    return _path(target.get("host") or host), target


def _each(hosts: tuple[str, ...], verb: str, told: str, server: Server, body: object = None) -> int:
    with server.client() as client:
        return for_each(
            hosts,
            lambda host: client.post(f"{_path(host)}/{verb}", body),
            lambda host, answer: told.format(answer.value.get("host") or host),
        )


def _path(host: str) -> str:
    return f"/v1/targets/{segment(host)}"
