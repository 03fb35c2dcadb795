"""Passwords, as people type them: without echo, or from a file; never as an argument, which would
stay in the shell's history and in the list of processes.
"""

from __future__ import annotations

import sys
from typing import Annotated, Final

from cyclopts import Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.values import read_text
from windlass.limits import PASSWORD_CHARS_MAX

# The longest password, each character as wide as UTF-8 has them.
_BYTES_MAX: Final = 4 * PASSWORD_CHARS_MAX


def source(flag: str, what: str) -> Parameter:
    return Parameter(
        name=flag,
        metavar="FILE",
        allow_leading_hyphen=True,
        help=f"Read {what} from the first line of a file; - is standard input.",
    )


PasswordFrom = Annotated[str | None, source("--password-from", "the password")]


def check_apart(*paths: str | None) -> None:
    """Raises BadUsage where more than one is to come from standard input."""
    if paths.count("-") > 1:
        raise BadUsage("only one of the passwords can come from standard input")


def password(flag: str, path: str | None, prompt: str) -> str:
    """From the file, or asked for. Raises BadUsage where nobody can be asked."""
    if path is not None:
        return _first_line(flag, path)
    if not sys.stdin.isatty():
        raise BadUsage(f"nobody can be asked for it here: give {flag} FILE, or {flag} -")
    from getpass import getpass

    return _checked(flag, getpass(f"{prompt}: "))


def new_password(flag: str, path: str | None) -> str:
    """Twice, where it is asked for: what is typed cannot be seen."""
    first = password(flag, path, "new password")
    if path is None and password(flag, None, "the same again") != first:
        raise BadUsage("these are two different passwords; nothing was changed")
    return first


def _first_line(flag: str, path: str) -> str:
    raw = read_text(flag, path).partition(b"\n")[0].removesuffix(b"\r")
    if len(raw) > _BYTES_MAX:
        raise BadUsage(f"{flag}: a password has at most {PASSWORD_CHARS_MAX} characters")
    try:
        return _checked(flag, raw.decode())
    except UnicodeDecodeError:
        raise BadUsage(f"{flag}: a password is text in UTF-8") from None


def _checked(flag: str, text: str) -> str:
    if not text:
        raise BadUsage(f"{flag}: the password is empty")
    return text
