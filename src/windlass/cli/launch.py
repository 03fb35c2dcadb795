"""From what was typed to an exit code.

Promises: no traceback for anything a user can cause; one style for every error; Ctrl-C ends with
130 and a closed pipe (`| head`) quietly.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from windlass import __version__
from windlass.cli.commands import COMMANDS, front_page
from windlass.cli.exits import BadUsage, Exit, Stopped
from windlass.cli.node_process import CHILD, plain_flags, run_child, run_plain

# May stand before the command too; there they mean the same as the variable.
LEADING = {"--url": "WINDLASS_URL", "--token": "WINDLASS_TOKEN"}
_ASCII = {"…": "...", "–": "-", "—": "-", "·": "-", "→": "->", "✓": "ok", "×": "x"}
_TIME = re.compile(r"[0-9]+(\.[0-9]+)?(ms|s|m|h|d)")


def launch(typed: Sequence[str]) -> int:
    """Run the command line `typed`; returns the exit code."""
    speak_ascii()
    try:
        code = _answer_or_complain(list(typed))
        # Here, where a closed pipe can still be caught.
        sys.stdout.flush()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader has left. Whatever is still buffered goes nowhere, without a word.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED
    else:
        return code


def speak_ascii() -> None:
    """Where the locale knows ASCII alone (LC_ALL=C) our few other characters are written in it."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and "utf" not in out.encoding.lower():
        codecs.register_error("windlass.ascii", _in_ascii)
        out.reconfigure(errors="windlass.ascii")


def _in_ascii(trouble: UnicodeError) -> tuple[str, int]:
    assert isinstance(trouble, UnicodeEncodeError)
    text = trouble.object[trouble.start : trouble.end]
    return "".join(_ASCII.get(c) or ascii(c)[1:-1] for c in text), trouble.end


def _answer_or_complain(typed: list[str]) -> int:
    try:
        return _answer(typed)
    except Stopped as stop:
        _complain(str(stop))
        return stop.code


def _answer(typed: list[str]) -> int:
    words = _take_leading(typed)
    match words:
        case [] | ["--help" | "-h" | "help"]:
            sys.stdout.write(front_page())
            return Exit.OK
        case ["--version"]:
            sys.stdout.write(f"windlass {__version__}\n")
            return Exit.OK
        case ["help", *rest]:
            words = [*rest, "--help"]
        case _:
            pass
    if words[0] not in COMMANDS:
        raise _unknown(words[0])
    return _run(words)


def _run(words: list[str]) -> int:
    from windlass.errors import WindlassError
    from windlass.extras import server_parts

    flags = plain_flags(words)
    try:
        with server_parts(f"'windlass {_page(words, has_verb=True).strip()}'"):
            if tuple(words) == CHILD:
                return run_child()
            return _parse_and_run(words) if flags is None else run_plain(words[0], flags)
    except WindlassError as trouble:
        # Neither was begun: 1 would be "Redis cannot be reached" of a sweep, for example.
        usage = trouble.code in ("invalid_settings", "server_not_installed")
        raise Stopped(str(trouble), Exit.USAGE if usage else Exit.FAILED) from trouble


def _parse_and_run(words: list[str]) -> int:
    from cyclopts import CycloptsError, UnknownCommandError

    from windlass.cli.app import build

    try:
        code = build()(
            _with_values(words),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except CycloptsError as mistake:
        has_verb = not isinstance(mistake, UnknownCommandError)
        raise BadUsage(f"{mistake}\n  see windlass {_page(words, has_verb)}--help") from None
    return code if isinstance(code, int) else Exit.OK


def _take_leading(words: list[str]) -> list[str]:
    """Options before the command, as `windlass --url … job ls`."""
    while words:
        flag, equals, value = words[0].partition("=")
        if flag not in LEADING:
            break
        if equals:
            words = words[1:]
        elif len(words) > 1:
            value, words = words[1], words[2:]
        else:
            raise BadUsage(f"{flag} needs a value")
        os.environ[LEADING[flag]] = value
    return words


def _with_values(words: list[str]) -> list[str]:
    """`--wait` takes a value behind `=`, or one that can only be a time, such as 5s.

    So `--wait noop` does not wait for "noop".
    """
    given: list[str] = []
    for word in words:
        if given[-1:] == ["--wait=yes"] and _TIME.fullmatch(word):
            given[-1] = f"--wait={word}"
        else:
            given.append("--wait=yes" if word == "--wait" else word)
    return given


def _unknown(name: str) -> BadUsage:
    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {near[0]}?" if near else "windlass --help lists what there is"
    what = "option" if name.startswith("-") else "command"
    return BadUsage(f"there is no {what} {name!r}; {hint}")


def _page(words: list[str], has_verb: bool) -> str:
    """Whose help to read: the noun's, or the verb's."""
    verb = [word for word in words[1:2] if has_verb and word.isalpha()]
    return "".join(f"{word} " for word in [words[0], *verb])


def _complain(message: str) -> None:
    from windlass.cli.show.output import say

    say(f"error: {message}")
