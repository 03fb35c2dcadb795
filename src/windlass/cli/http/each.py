"""The same verb for several things, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.http.client import Answer
from windlass.cli.show.output import say, show_line


def for_each(
    names: Sequence[str], do: Callable[[str], Answer], tell: Callable[[str, Answer], str]
) -> int:
    """Do it for each, go on when one is refused, and exit with the first refusal's code."""
    if not names:
        raise BadUsage("say which: give one id or more")
    code = Exit.OK
    for name in names:
        try:
            answer = do(name)
        except Stopped as stop:
            if stop.code == Exit.UNREACHABLE:
                raise
            say(f"error: {stop}")
            code = code or stop.code
        else:
            show_line(tell(name, answer))
    return code
