"""`windlass listen`: a receiver for developers that prints, verifies and forwards deliveries."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.show.output import plain, say

if TYPE_CHECKING:
    from windlass.cli.listen.verify import Key

app = App(name="listen", help="Receive deliveries here: print, verify and forward them.")


@app.default
def listen(
    *,
    forward_to: Annotated[
        str | None,
        Parameter(metavar="URL", help="Pass each delivery on below this address, its answer back."),
    ] = None,
    port: Annotated[int, Parameter(show_default=True, help="To listen on; 0 for any.")] = 5780,
    host: Annotated[str, Parameter(show_default=True, help="To listen on.")] = "127.0.0.1",
    secret: Annotated[
        tuple[str, ...],
        Parameter(
            env_var="WINDLASS_LISTEN_SECRET",
            metavar="KEY",
            help="Check signatures with this whsec_… or whpk_…; may be repeated.",
        ),
    ] = (),
    status: Annotated[
        int, Parameter(metavar="CODE", show_default=True, help="Answer with it; not forwarding.")
    ] = 200,
    print: Annotated[  # noqa: A002
        Literal["headers", "body", "all"] | None, Parameter(help="Show these too.")
    ] = None,
    output: Annotated[
        Literal["text", "jsonl"],
        Parameter(name=("--output", "-o"), show_default=True, help="jsonl: one object a line."),
    ] = "text",
) -> int:
    """Receive deliveries on this machine, one line each, until Ctrl-C.

    A signature that is missing or wrong is shown and changes nothing else. A delivery that came
    before is marked "again". One that cannot be forwarded is answered with 502.
    """
    from windlass.cli.listen.serve import Listening, run
    from windlass.cli.listen.view import shower

    if not 200 <= status <= 599:
        raise BadUsage("--status must be a status code from 200 to 599")
    if not 0 <= port <= 65_535:
        raise BadUsage("--port must be a port from 0 to 65535")
    wanted = Listening(
        host=host,
        port=port,
        forward_to=None if forward_to is None else _checked(forward_to),
        status=status,
        keys=_keys(secret),
    )

    def ready(address: str) -> None:
        lines = welcome(address, wanted.forward_to or f"answers {status}", is_keyed=bool(secret))
        if output == "jsonl":
            say("\n".join(lines))
        else:
            sys.stdout.write("".join(f"{plain(line)}\n" for line in lines))
            sys.stdout.flush()

    return run(wanted, shower(output, print), ready)


def welcome(address: str, behind: str, *, is_keyed: bool) -> Sequence[str]:
    """Where we are, and how deliveries find the way here."""
    where = urlsplit(address).hostname or ""
    allow = "127.0.0.0/8" if where.startswith("127.") or where == "localhost" else where
    job = f'{{"url": "{address}/", "json": {{"hello": "world"}}}}'
    return [
        f"listening: {address} -> {behind}",
        f"  deliver:  windlass job submit http --input '{job}'",
        f"  allow it: WINDLASS_EGRESS_ALLOW={allow}, where the node is started",
        *([] if is_keyed else ["  signatures are not checked: give --secret whsec_… or whpk_…"]),
    ]


def _keys(secrets: Sequence[str]) -> Sequence[Key]:
    from windlass.cli.listen.verify import read_key

    try:
        return [read_key(secret) for secret in secrets]
    except ValueError as trouble:
        raise BadUsage(f"--secret {trouble}") from None


def _checked(url: str) -> str:
    wrong = BadUsage(
        f"--forward-to {url!r} is not an address such as http://127.0.0.1:3000/hooks: "
        "http or https, a host, no query"
    )
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise wrong from None
    is_whole = parts.scheme in ("http", "https") and parts.hostname and url.isprintable()
    if not is_whole or parts.username is not None or parts.query or parts.fragment:
        raise wrong
    return url
