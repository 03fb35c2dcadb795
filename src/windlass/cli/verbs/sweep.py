"""`windlass sweep`: remove from Redis what dead coordinators left there. Needs nothing else."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from windlass.engine.cluster.sweep import SweepReport

app = App(name="sweep", help="Remove from Redis what dead nodes left there.")
# The contract gives this command codes of its own: cron and systemd branch on them.
DONE, UNREACHABLE, ERRORS = 0, 1, 2
SHOWN_IDS_MAX: Final = 20


@app.default
def sweep(
    *,
    stale_after: Annotated[
        str | None,
        Parameter(metavar="SECONDS", help="Dead after so long without a beat; also 10m, 2h."),
    ] = None,
    dry_run: Annotated[bool, Parameter(help="Say what would go, and remove nothing.")] = False,
    scan: Annotated[bool, Parameter(help="Also look for keys that no index names.")] = False,
    json: Annotated[bool, Parameter(help="The report as JSON.")] = False,
    redis_url: Annotated[str | None, Parameter(help="redis://…; else WINDLASS_REDIS_URL")] = None,
) -> int:
    """Sweep once. The leader does the same every five minutes; this needs no node at all.

    Exit code 0: done; 1: Redis cannot be reached; 2: anything else.
    """
    from windlass.cli.exits import BadUsage
    from windlass.config import load_settings
    from windlass.engine.cluster.sweep import Sweeper
    from windlass.errors import InvalidInput

    flags: dict[str, object] = {} if redis_url is None else {"redis_url": redis_url}
    settings = load_settings(flags, os.environ, Path.cwd()).settings
    if settings.redis_url is None:
        raise BadUsage("say which Redis: --redis-url or WINDLASS_REDIS_URL")
    sweeper = Sweeper(
        settings.redis_url,
        stale_seconds=settings.stale_coordinator_seconds,
        heartbeat_seconds=settings.heartbeat_seconds,
    )
    stale_seconds = _seconds(stale_after)
    try:
        report = asyncio.run(sweeper.sweep(stale_seconds, is_dry_run=dry_run, is_scan=scan))
    except InvalidInput as refusal:
        raise BadUsage(f"--stale-after: {refusal.problems[0].detail}") from None
    except Exception as trouble:
        return _complain(trouble)
    _show(report, json)
    return DONE


def _seconds(text: str | None) -> float | None:
    """What was typed; None: nothing was. How little is too little the sweeper says."""
    from windlass.cli.exits import BadUsage
    from windlass.config.parsers import seconds
    from windlass.limits import DURATION_SECONDS_MAX

    if text is None:
        return None
    parser = seconds(0, DURATION_SECONDS_MAX)
    try:
        found = parser.parse(text)
    except ValueError:
        raise BadUsage(f"--stale-after: {text!r} is not {parser.allowed}") from None
    assert isinstance(found, float)
    return found


def _complain(trouble: Exception) -> int:
    from windlass.cli.show.output import say
    from windlass.errors import Unavailable

    say(f"error: {str(trouble) or type(trouble).__name__}")
    return UNREACHABLE if isinstance(trouble, Unavailable) else ERRORS


def _show(report: SweepReport, is_json: bool) -> None:
    from windlass.cli.show.output import compact, show_json, show_line

    if is_json:
        show_json(compact(asdict(report)))
        return
    does, go = ("would remove", "would go") if report.dry_run else ("removed", "went")
    for one in report.stale_ids[:SHOWN_IDS_MAX]:
        show_line(f"{go}: {one}")
    if report.stale > SHOWN_IDS_MAX:
        show_line(f"and {report.stale - SHOWN_IDS_MAX} more; --json names them")
    show_line(
        f"{does} {report.removed_keys} keys of {report.stale} dead; kept {report.kept}, "
        f"skipped {report.skipped} whose beat cannot be read ({report.ms:.0f} ms)"
    )
    if report.mode == "pipelined":
        show_line("scripts are refused there: swept with transactions, which takes longer")
