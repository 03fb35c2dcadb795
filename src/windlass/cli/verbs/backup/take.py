"""`windlass backup FILE`: everything that must be kept, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from windlass.compose.data import Source

app = App(name="backup", help="Write everything into one file, while it works.")


@app.default
def backup(
    file: Path,
    *,
    data: Annotated[str | None, Parameter(help="Folder of 'windlass up'.")] = None,
    database_url: Annotated[
        str | None, Parameter(help="Or postgresql://… of your own PostgreSQL.")
    ] = None,
    force: Annotated[bool, Parameter(help="Replace FILE if it is there.")] = False,
) -> int:
    """Write all jobs, executions, schedules, secrets (encrypted) and their history into FILE.

    Works while nodes do, and on the folder of a 'windlass up' that is stopped. FILE
    is of one instant, and whole or not there. The key that secrets are encrypted with
    is not in it: keep a copy of that apart. 'windlass restore FILE' takes it back.
    """
    from windlass.cli.show.moment import length
    from windlass.cli.show.output import show_line
    from windlass.cli.verbs.backup.run import counted, run, settings_of, telling
    from windlass.compose.backup.take import megabytes, take_backup
    from windlass.compose.data import Source
    from windlass.config import shown_address

    settings = settings_of(database_url, data)
    source = Source.of(settings.database_url, settings.data)
    with telling() as tell:
        taken = run(
            take_backup(source, file, may_replace=force, tell=tell),
            left="nothing was written" + (f", {file} is as it was" if file.exists() else ""),
        )
    contents = taken.contents
    show_line(f"wrote {file}: {megabytes(taken.bytes)} in {length(taken.seconds)}")
    place = shown_address(source.url) if source.url is not None else str(source.folder)
    show_line(f"  of       {place}, as it was at {contents.taken_at:%Y-%m-%d %H:%M:%S} UTC")
    show_line(f"  holds    {counted(contents)}")
    show_line(f"  schema   {contents.schema}")
    show_line(f"  not in   {_key_apart(source, settings.secret_key, contents.secrets)}")
    show_line(f"  prove    windlass restore {file} --drill")
    return 0


def _key_apart(source: Source, secret_key: str | None, secrets: int) -> str:
    from windlass.compose.embedded import KEY_FILE

    is_in_folder = secret_key is None and source.is_ours
    key = str(source.folder / KEY_FILE) if is_in_folder else "WINDLASS_SECRET_KEY"
    opens = {0: "", 1: ", which opens its secret"}.get(
        secrets, f", which opens its {secrets} secrets"
    )
    return f"{key}{opens}; keep a copy of it, apart from this file"
