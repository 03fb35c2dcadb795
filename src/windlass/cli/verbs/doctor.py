"""`windlass doctor`: check the whole database against its guarantees."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage

if TYPE_CHECKING:
    from windlass.config import Settings
    from windlass.engine.doctor.doctor import DoctorReport

app = App(name="doctor", help="Check the whole database against its guarantees.")


@app.default
def doctor(
    *,
    database_url: Annotated[str | None, Parameter(help="postgresql://…")] = None,
    data: Annotated[str | None, Parameter(help="Or the folder of 'windlass up'.")] = None,
    repair: Annotated[bool, Parameter(help="Mend what cannot do harm.")] = False,
    output: Annotated[Literal["table", "json"], Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Fold every job's events, look for rows without an owner, and compare counters with truth.

    Says what it would repair. Exit code 0: all is well (or mended); 1: something is wrong.
    """
    from windlass.cli.actor import at_the_terminal
    from windlass.cli.show.unknown_settings import say_unknown
    from windlass.config import load_settings
    from windlass.model.identity.actor import acting_as

    if database_url and data:
        raise BadUsage("give --database-url or --data, not both: each names a database")
    given = {"database_url": database_url, "data": data}
    flags: dict[str, object] = {name: value for name, value in given.items() if value}
    loaded = load_settings(flags, os.environ, Path.cwd())
    say_unknown(loaded)
    settings = loaded.settings
    with acting_as(at_the_terminal()):
        return asyncio.run(_examine(settings, repair, output))


async def _examine(settings: Settings, repair: bool, output: str) -> int:
    from windlass.cli.show.output import say
    from windlass.compose.data import database_of
    from windlass.config import shown_address
    from windlass.engine.doctor.doctor import doctor as examine
    from windlass.engine.identity.sign_on import provider_of
    from windlass.store.database import Database

    async with database_of(settings.database_url, settings.data) as address:
        database = Database(address, application="windlass doctor")
        provider = provider_of(settings)
        await database.open()
        try:
            say(f"looking at {shown_address(address)}")
            report = await examine(
                database,
                repair=repair,
                retention_days=settings.retention_days,
                provider=provider,
                on_progress=lambda jobs: say(f"checked {jobs} jobs"),
            )
        finally:
            await database.close()
            if provider is not None:
                await provider.close()
    report.notes += _notes(settings)
    if settings.redis_url is not None:
        report.notes.append(await _redis_note(settings.redis_url))
    if output == "json":
        _print_json(report, shown_address(address))
    else:
        _print(report, repair, shown_address(address))
    return 0 if report.is_well else 1


def _notes(settings: Settings) -> list[str]:
    """What is amiss with the settings that are given here, if nodes here have the same."""
    from windlass.compose.foreground import certificate_files

    notes = []
    if settings.auth == "off":
        notes.append("auth is off: whoever reaches the API may do everything; WINDLASS_AUTH=on")
    files = certificate_files(settings)
    if files is not None:
        from windlass.api.http.tls import expiry_note

        wrong = expiry_note(files)
        notes += [wrong] if wrong is not None else []
    return notes


async def _redis_note(url: str) -> str:
    """Does it answer, over which wire, and as whom do we speak to it?"""
    from urllib.parse import urlsplit

    from windlass.config.redaction import where_of
    from windlass.fastlane.connect import TROUBLE, client_of, close_client, is_verified
    from windlass.telemetry.outage import reason_text

    parts = urlsplit(url)
    client = client_of(url)
    try:
        await client.ping()
    except TROUBLE as trouble:
        return f"Redis: {where_of(url)} does not answer ({reason_text(trouble)})"
    finally:
        await close_client(client)
    if parts.scheme.startswith("rediss"):
        is_known = "" if is_verified(url) else "; who answers is not checked"
        wire = f"encrypted{is_known}"
    else:
        is_local = parts.scheme == "unix"
        wire = "by a socket of this machine" if is_local else "not encrypted"
    user = parts.username or "default"
    least = "; deploy/redis/windlass.acl has a user with less rights" if user == "default" else ""
    return f"Redis: {wire}, as the user {user}{least}"


def _print(report: DoctorReport, repair: bool, database: str) -> None:
    for note in report.notes:
        print(f"note: {note}")
    for finding in report.findings:
        print(f"{finding.check}  {finding.subject}: {finding.detail}")
        if finding.repair is not None:
            print(f"    {'repaired' if finding.is_repaired else 'would repair'}: {finding.repair}")
    wrong = report.counts.total()
    if not wrong:
        print(f"all is well in {database}: {report.jobs} jobs, every guarantee holds")
        return
    print(f"{wrong} findings in {report.jobs} jobs of {database}, {report.repaired} repaired")
    if not repair and any(finding.repair for finding in report.findings):
        print("run again with --repair to mend what can be mended")


def _print_json(report: DoctorReport, database: str) -> None:
    import msgspec

    found = {"database": database, **msgspec.to_builtins(report)}
    print(msgspec.json.encode(found).decode())
