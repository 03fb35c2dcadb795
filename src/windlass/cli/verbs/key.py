"""`windlass key`: the admin key of an installation; works beside the database, as `doctor` does."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage

app = App(name="key", help="Make a new admin key when the old one is lost or known.")


@app.command
def reset(
    *,
    database_url: Annotated[str | None, Parameter(help="postgresql://…")] = None,
    redis_url: Annotated[str | None, Parameter(help="redis://…, as for the nodes.")] = None,
    data: Annotated[str | None, Parameter(help="Or the folder of 'windlass up'.")] = None,
) -> int:
    """Make a new admin key, print it, and let the old one open nothing any more.

    It takes the database and no key. In a folder of 'windlass up' the new key is
    kept, too, where commands on this machine find it.
    """
    from windlass.cli.actor import at_the_terminal
    from windlass.cli.show.output import say, show_line
    from windlass.compose.admin_key import reset_key
    from windlass.compose.terminal import shown_path
    from windlass.config import load_settings
    from windlass.limits import TOKEN_ASK_SECONDS, TOKEN_BELIEVED_SECONDS
    from windlass.model.identity.actor import acting_as
    from windlass.telemetry.logs import configure_logs

    configure_logs("console", "warning")
    if database_url and data:
        raise BadUsage("give --database-url or --data, not both: each names a database")
    given = {"database_url": database_url, "redis_url": redis_url, "data": data}
    flags = {name: value for name, value in given.items() if value}
    settings = load_settings(flags, os.environ, Path.cwd()).settings
    with acting_as(at_the_terminal()):
        done = asyncio.run(reset_key(settings))
    show_line(f"admin key: {done.key}")
    if done.path is not None:
        say(f"kept in {shown_path(done.path)}, where commands on this machine find it")
    if done.untold:
        names = ", ".join(done.untold)
        seconds = TOKEN_BELIEVED_SECONDS + TOKEN_ASK_SECONDS
        say(
            f"the old key may be taken for {seconds:g} s more by nodes that did not answer: {names}"
        )
    else:
        say("the old key opens nothing any more")
    return 0
