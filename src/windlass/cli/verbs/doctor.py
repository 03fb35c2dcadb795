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
    from windlass.cli.show.unknown_settings import say_unknown
    from windlass.config import load_settings

    if database_url and data:
        raise BadUsage("give --database-url or --data, not both: each names a database")
    given = {"database_url": database_url, "data": data}
    flags: dict[str, object] = {name: value for name, value in given.items() if value}
    loaded = load_settings(flags, os.environ, Path.cwd())
    say_unknown(loaded)
    settings = loaded.settings
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
    if output == "json":
        _print_json(report, shown_address(address))
    else:
        _print(report, repair, shown_address(address))
    return 0 if report.is_well else 1


def _print(report: DoctorReport, repair: bool, database: str) -> None:
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

    print(msgspec.json.encode({"database": database, **msgspec.to_builtins(report)}).decode())
