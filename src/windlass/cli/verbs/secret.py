"""`windlass secret …`: values that deliveries sign and identify themselves with.

A value is never an argument: it would stay in the shell's history and in the list of processes.
"""

from __future__ import annotations

import sys
from getpass import getpass
from typing import Annotated, Any, Final, Literal, get_args

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.http.client import Client, segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.options import READ, SERVED, Reading, Server
from windlass.cli.show.output import say
from windlass.cli.show.table import Column, columns, prose, spare
from windlass.cli.values import duration, read_text
from windlass.limits import REDACTED_CHARS_MIN, SECRET_BYTES_MAX

SecretName = Annotated[str, Parameter(metavar="SECRET", help="Name of the secret.")]
From = Annotated[
    str | None,
    Parameter(
        name="--from",
        metavar="FILE",
        allow_leading_hyphen=True,
        help="Read the value from a file; - is standard input.",
    ),
]
Overlap = Annotated[
    str | None,
    Parameter(metavar="TIME", help="How long the value before stays good; 24h unless said."),
]
ForHost = Annotated[
    list[str] | None,
    Parameter(
        name="--host",
        metavar="HOST",
        help="Where it may go, with its port unless that is 443; *.HOST for all below. May be "
        "repeated. Not given: as before, or wherever it goes first.",
    ),
]
Generated = Literal["hmac", "ed25519", "derived"]
_GENERATED: Final = get_args(Generated)

ROW = (
    *columns("name", "kind", "versions"),
    *spare(Column(title="readable", take="is_readable")),
    prose("hosts"),
    *spare("created_at", "rotated_at"),
    *columns("overlap_until"),
)
PAGE = (*ROW, *columns("version", "public_key", "value"))

app = App(name="secret", help="Keep signing keys and credentials, encrypted; rotate them.")


@app.command
def ls(*, reading: Reading = READ) -> None:
    """List secrets; their values are shown to nobody."""
    show_list(reading, "/v1/secrets", {}, ROW, limit=None, none="no secret was set yet")


@app.command
def get(secret: SecretName, /, *, reading: Reading = READ) -> None:
    """Show what may be known of one secret: its public key, for example."""
    with reading.client() as client:
        show_one(reading, client.get(_path(secret)), PAGE)


@app.command(name="set")
def set_value(
    secret: SecretName,
    /,
    *,
    source: From = None,
    generate: Annotated[
        Generated | None,
        Parameter(help="Have a key to sign with made; it is shown once."),
    ] = None,
    overlap: Overlap = None,
    hosts: ForHost = None,
    reading: Reading = READ,
) -> None:
    """Store a secret; without --from or --generate its value is asked for."""
    if generate is not None and source is not None:
        raise BadUsage("say either --from or --generate")
    with reading.client() as client:
        given: dict[str, Any] = {"generate": generate} if generate else {"value": _value(source)}
        if hosts:
            given["hosts"] = hosts
        _put(client, reading, secret, given, overlap)


@app.command
def rotate(
    secret: SecretName,
    /,
    *,
    source: From = None,
    overlap: Overlap = None,
    reading: Reading = READ,
) -> None:
    """Give a secret a new value; the one before stays good for a while.

    A signing key is made anew; any other value is asked for, or taken --from a file.
    """
    with reading.client() as client:
        kind = client.get(_path(secret)).value.get("kind")
        is_made = source is None and kind in _GENERATED
        given = {"generate": kind} if is_made else {"value": _value(source)}
        _put(client, reading, secret, given, overlap)


@app.command
def bind(
    secret: SecretName,
    /,
    *hosts: Annotated[str, Parameter(metavar="HOST", help="All that it may go to.")],
    reading: Reading = READ,
) -> None:
    """Say to which hosts a secret may go, and to no others; its value stays.

    A host has its port unless that is 443: shop.example:8080; *.shop.example is all below it.
    """
    if not hosts:
        raise BadUsage("name the hosts; `windlass secret unbind` lets the next use decide")
    with reading.client() as client:
        show_one(reading, client.put(_path(secret), {"hosts": list(hosts)}), PAGE)


@app.command
def unbind(secret: SecretName, /, *, reading: Reading = READ) -> None:
    """Forget where a secret may go: the next delivery that sends it decides."""
    with reading.client() as client:
        show_one(reading, client.put(_path(secret), {"hosts": None}), PAGE)


@app.command
def rm(*secrets: SecretName, server: Server = SERVED) -> int:
    """Forget secrets at once; deliveries that need them fail from then on."""
    with server.client() as client:
        return for_each(
            secrets,
            lambda secret: client.delete(_path(secret)),
            lambda secret, _: f"{secret} forgotten",
        )


@app.command
def reencrypt(
    *,
    database_url: Annotated[str | None, Parameter(help="postgresql://…")] = None,
    data: Annotated[str | None, Parameter(help="Or the folder of 'windlass up'.")] = None,
) -> int:
    """Put every secret under the first key of WINDLASS_SECRET_KEY, so that older keys can go.

    Put a new key before the old one (WINDLASS_SECRET_KEY=new,old) and restart every node; run
    this; take the old key away. Exit code 1: some are under a key that is not there.
    """
    from windlass.cli.verbs.reencrypt import run_reencrypt

    return run_reencrypt({"database_url": database_url, "data": data})


def _put(
    client: Client, reading: Reading, secret: str, given: dict[str, Any], overlap: str | None
) -> None:
    kept = {} if overlap is None else {"overlap": duration(overlap)}
    answer = client.put(_path(secret), {**given, **kept})
    show_one(reading, answer, PAGE)
    if "value" in answer.value:
        say("the value is shown only now")


def _path(secret: str) -> str:
    return f"/v1/secrets/{segment(secret)}"


def _value(source: str | None) -> str:
    is_asked = source is None and sys.stdin.isatty()
    value = getpass("value: ") if is_asked else _read(source or "-")
    if (chars := len(value.strip(" \t"))) < REDACTED_CHARS_MIN:
        raise BadUsage(
            f"the value has {chars} characters; at least {REDACTED_CHARS_MIN}, or it could not be "
            "found and concealed in what a receiver answers"
        )
    return value


def _read(source: str) -> str:
    raw = read_text("--from", source)
    # An editor or `echo` ended the last line; PEM does not mind.
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if len(raw) > SECRET_BYTES_MAX:
        raise BadUsage(f"a value has at most {SECRET_BYTES_MAX} bytes, and this one {len(raw)}")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadUsage("a value is text in UTF-8; put other bytes into base64") from None
