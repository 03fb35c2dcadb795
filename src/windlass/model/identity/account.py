"""What users, passwords and keys are written as: read, or refused with what is allowed.

A password is long rather than colourful (NIST SP 800-63B): at least 12 characters, of whatever
kind, and not what everybody would try first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from windlass.limits import (
    CONFINED_MAX,
    KEY_NAME_CHARS_MAX,
    PASSWORD_CHARS_MAX,
    PASSWORD_CHARS_MIN,
    USER_NAME_CHARS_MAX,
)
from windlass.model.identity.quota import NO_QUOTA, Quota
from windlass.model.identity.rights import RIGHTS, ROLES, Role
from windlass.model.job.submission import read_name, read_text

USER_NAME_PATTERN: Final = rf"^[a-z0-9][a-z0-9._@+-]{{0,{USER_NAME_CHARS_MAX - 1}}}$"
_USER_NAME: Final = re.compile(USER_NAME_PATTERN.strip("^$"))
# `?user=all`: what somebody called so has could not be asked for.
EVERYBODY: Final = "all"
# Of these nobody is kept by length: they are long and known.
_KNOWN: Final = ("password", "passwort", "windlass", "qwertyuiop", "letmein", "iloveyou", "admin")
_CHARS_APART_MIN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a key may do. Either a role or rights; queues and workflows confine both."""

    role: Role | None
    rights: tuple[str, ...] | None  # None: those of the role
    queues: tuple[str, ...] | None = None  # None: all
    workflows: tuple[str, ...] | None = None  # None: all


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDraft:
    """A key that somebody asks for."""

    name: str
    scope: Scope
    expires_at: datetime | None  # None: never, or so long from now on
    expires_in_seconds: float | None = None
    quota: Quota = NO_QUOTA  # of its own


def read_user_name(value: object) -> str:
    """Lower case always: Ann and ann are one."""
    text = value.lower() if isinstance(value, str) and len(value) <= USER_NAME_CHARS_MAX else ""
    if not _USER_NAME.fullmatch(text) or text.startswith("user_"):  # as ids do
        raise ValueError(
            f"must be 1 to {USER_NAME_CHARS_MAX} letters, digits or ._@+-, beginning with a letter "
            "or a digit, and not with user_"
        )
    return text


def read_new_user_name(value: object) -> str:
    """Of somebody who is about to be made; who has been called so before is found by it."""
    name = read_user_name(value)
    if name == EVERYBODY:
        raise ValueError(
            f"{EVERYBODY!r} stands for all users where sessions are listed; choose another name"
        )
    return name


def read_role(value: object) -> Role:
    for role in ROLES:
        if value == role:
            return role
    raise ValueError(f"must be one of: {' '.join(ROLES)}")


def read_password(value: object, user: str = "") -> str:
    """A new password. What is wrong is said without showing any of it."""
    if not isinstance(value, str) or not PASSWORD_CHARS_MIN <= len(value) <= PASSWORD_CHARS_MAX:
        raise ValueError(
            f"must be {PASSWORD_CHARS_MIN} to {PASSWORD_CHARS_MAX} characters of whatever kind; a "
            "few words in a row will do"
        )
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):
        raise ValueError("holds NUL or half of a character (a lone surrogate); send whole ones")
    plain = value.lower()
    if len(set(plain)) < _CHARS_APART_MIN or _is_known(plain) or (user and _is_of(plain, user)):
        raise ValueError(
            "is among the first that somebody would try: repeated characters, a well-known "
            "password, or the user's name"
        )
    return normal_password(value)


def normal_password(value: str) -> str:
    """One form for what looks the same, whichever keyboard it was typed on."""
    return unicodedata.normalize("NFKC", value)


def _is_known(plain: str) -> bool:
    """Nothing but a well-known one, a few digits, and itself again."""
    rest = re.sub(r"[\d\W_]", "", plain)
    return any(rest.replace(known, "") == "" for known in _KNOWN)


def _is_of(plain: str, user: str) -> bool:
    name = user.partition("@")[0]
    return plain.replace(name, "").strip("0123456789.!-_") == ""


def read_key_name(value: object) -> str:
    return read_text(value, KEY_NAME_CHARS_MAX)


def read_scopes(value: object) -> tuple[str, ...]:
    """Rights, each once. Raises ValueError that names one that nobody has."""
    if not isinstance(value, list) or not 1 <= len(value) <= len(RIGHTS):
        raise ValueError(f"must be a list of 1 to {len(RIGHTS)} rights such as jobs:submit")
    for item in value:
        if not isinstance(item, str) or item not in RIGHTS:
            shown = repr(item[:60]) if isinstance(item, str) else "what is no text"
            raise ValueError(f"{shown} is no right; known are {' '.join(RIGHTS)}")
    if len(set(value)) != len(value):
        raise ValueError("names a right twice")
    return tuple(value)


def read_confines(value: object) -> tuple[str, ...]:
    """Names of queues or workflows, each once."""
    if not isinstance(value, list) or not 1 <= len(value) <= CONFINED_MAX:
        raise ValueError(f"must be a list of 1 to {CONFINED_MAX} names")
    names = [read_name(item) for item in value]
    if len(set(names)) != len(names):
        raise ValueError("has a name twice")
    return tuple(names)


def missing_of(scope: Sequence[str], has: frozenset[str]) -> list[str]:
    """The rights of a scope that somebody has not got to give."""
    return sorted(set(scope) - has)
