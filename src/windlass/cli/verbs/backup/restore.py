"""`windlass restore FILE`: a backup into a new folder, into an empty database, or on trial."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage

if TYPE_CHECKING:
    from collections.abc import Callable

    from windlass.compose.backup.archive import Archive
    from windlass.compose.backup.restore import Restored
    from windlass.config import Settings

app = App(name="restore", help="Put a backup into a new folder, or prove that one is good.")


@app.default
def restore(
    file: Path,
    *,
    data: Annotated[str | None, Parameter(help="A new folder for 'windlass up'.")] = None,
    database_url: Annotated[
        str | None, Parameter(help="Or postgresql://… of an empty database.")
    ] = None,
    drill: Annotated[
        bool, Parameter(help="Restore into a scratch folder, check it, throw it away.")
    ] = False,
    skip_doctor: Annotated[
        bool, Parameter(help="Leave the check to 'windlass doctor', to start sooner.")
    ] = False,
) -> int:
    """Put what 'windlass backup' wrote, or pg_dump in its custom format, back in place.

    It writes over nothing: a folder that has data, or a database that has a schema
    windlass, is refused. Stop the old nodes before you start new ones on it.

    --drill proves a backup: it restores it beside everything else, counts it, runs
    the doctor, and leaves nothing behind. No node is started, so no job runs. --data
    names the folder to do it in; else where temporary files lie.
    """
    from windlass.cli.verbs.backup.run import run, settings_of, telling

    if drill and database_url:
        raise BadUsage("--drill uses a PostgreSQL of its own: leave --database-url out")
    if drill and skip_doctor:
        raise BadUsage("--drill is for the doctor to look: leave --skip-doctor out")
    settings = settings_of(database_url, data)
    if not (drill or data or database_url):
        raise BadUsage(
            "say where to: --data DIR, a new folder, or --database-url of an empty database; "
            "--drill only tries it"
        )
    from windlass.cli.actor import at_the_terminal
    from windlass.model.identity.actor import acting_as

    with acting_as(at_the_terminal()), telling() as tell:
        done = run(
            _restore(file, settings, None if database_url else data, drill, not skip_doctor, tell),
            left="nothing was left behind" if drill else "nothing was restored",
        )
    return done.say()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    archive: Archive
    restored: Restored
    settings: Settings
    folder: Path | None  # None: it is a database elsewhere, or nothing is left
    is_drill: bool

    def say(self) -> int:
        from windlass.cli.show.moment import length
        from windlass.cli.show.output import show_line
        from windlass.cli.verbs.backup.run import counted
        from windlass.config import shown_address

        contents, path = self.restored.contents, self.archive.path
        took = length(self.restored.seconds)
        if self.is_drill:
            show_line(f"{path} can be restored: tried in {took}, nothing was kept")
        elif self.folder is not None:
            show_line(f"restored {path} into {self.folder} in {took}")
        else:
            where = shown_address(self.settings.database_url or "")
            show_line(f"restored {path} into {where} in {took}")
        for name, value in [
            ("taken", self._taken()),
            ("holds", counted(contents)),
            ("schema", self._schema()),
            ("doctor", self._doctor()),
            *self._secrets(),
            *self._rights(),
            *self._admin_key(),
        ]:
            show_line(f"  {name:<8} {value}")
        if not self.is_drill:
            self._say_what_follows()
        report = self.restored.report
        return 0 if report is None or report.is_well else 1

    def _taken(self) -> str:
        manifest = self.archive.manifest
        if manifest is None:
            return "by pg_dump; when, it does not say"
        at = f"{manifest.contents.taken_at:%Y-%m-%d %H:%M:%S} UTC"
        return f"{at}, by Windlass {manifest.windlass} from PostgreSQL {manifest.server}"

    def _schema(self) -> str:
        applied = self.restored.migrations
        more = f"; applied {', '.join(applied)}" if applied else ""
        return f"{self.restored.contents.schema}{more}"

    def _doctor(self) -> str:
        report = self.restored.report
        if report is None:
            return "was not asked; 'windlass doctor' does it later"
        if report.is_well:
            return "all is well: every guarantee holds"
        first = report.findings[0]
        wrong = report.counts.total() - report.repaired
        return f"{wrong} findings, the first: {first.check}  {first.subject}: {first.detail}"

    def _secrets(self) -> list[tuple[str, str]]:
        from windlass.compose.backup.contents import missing_keys
        from windlass.compose.embedded import KEY_FILE
        from windlass.config.secret_key import FILE

        contents, setting = self.restored.contents, self.settings.secret_key
        if not contents.secrets:
            return [("secrets", "none")]
        count = "1 secret" if contents.secrets == 1 else f"{contents.secrets} secrets"
        kept = self.folder / KEY_FILE if self.folder is not None else None
        if setting is None and kept is not None and kept.exists():
            setting = f"{FILE}{kept}"
        missing = missing_keys(contents.key_ids, setting)
        if not missing:
            whose = "WINDLASS_SECRET_KEY" if self.settings.secret_key else str(kept)
            return [("secrets", f"{count}; {whose} opens {'it' if count[:2] == '1 ' else 'them'}")]
        under = f"{count} under key {' and '.join(missing)}"
        if self.is_drill:
            copy = f"WINDLASS_SECRET_KEY={FILE}PATH of your copy"
            return [("secrets", f"{under}, which was not tried: set {copy}")]
        if kept is None:
            return [("secrets", f"{under}: give the nodes the WINDLASS_SECRET_KEY of that time")]
        return [
            ("secrets", f"{under}, which is not here; before you start it:"),
            ("", f"install -m 600 OLD/{KEY_FILE} {shlex.quote(str(kept))}"),
        ]

    def _rights(self) -> list[tuple[str, str]]:
        if not self.restored.roles:
            return []
        lost = ", ".join(self.restored.roles)
        return [
            ("rights", f"none were restored: there is no role {lost}; make it, then GRANT again"),
            ("", "those that `windlass migrate role` gave to others were given anew"),
        ]

    def _admin_key(self) -> list[tuple[str, str]]:
        if self.restored.key_path is None:
            return []
        return [
            ("key", f"{self.folder}/{self.restored.key_path.name}, a new one; the old are good")
        ]

    def _say_what_follows(self) -> None:
        from windlass.cli.show.output import show_line

        running = self.restored.contents.running
        show_line("when it is started:")
        if running:
            jobs = "the job that ran" if running == 1 else f"the {running:,} jobs that ran"
            show_line(f"  {jobs} at that time will be taken back and run again")
        show_line("  what ended after that time runs again; a webhook has the same webhook-id")
        show_line("  what schedules missed since then follows their misfire policy")
        if self.folder is not None:
            show_line(f"start it: windlass up --data {shlex.quote(str(self.folder))}")
        else:
            show_line("start it: windlass node --database-url … --redis-url …")


async def _restore(
    file: Path,
    settings: Settings,
    data: str | None,
    drill: bool,
    with_doctor: bool,
    tell: Callable[[str], None],
) -> _Done:
    from windlass.compose.backup.archive import examine
    from windlass.compose.backup.restore import (
        Examine,
        restore_into_database,
        restore_into_folder,
        scratch_folder,
    )
    from windlass.compose.backup.take import megabytes

    archive = await examine(file, lambda count: tell(f"checked {megabytes(count)}"))
    look = Examine(is_wanted=with_doctor, retention_days=settings.retention_days)
    folder = Path(data) if data and not drill else None
    if drill:
        with scratch_folder(Path(data) if data else None) as scratch:
            restored = await restore_into_folder(
                archive, scratch, examine=look, tell=tell, with_key=False
            )
    elif folder is not None:
        restored = await restore_into_folder(archive, folder, examine=look, tell=tell)
    else:
        assert settings.database_url is not None
        restored = await restore_into_database(
            archive, settings.database_url, examine=look, tell=tell
        )
    return _Done(
        archive=archive, restored=restored, settings=settings, folder=folder, is_drill=drill
    )
