"""A webhook target: its name (host and port), circuit breaker, rate limit and concurrency limit.

May a delivery go? `reason_to_park` says what keeps one from its target, `unpark_count`
how many of those that are parked may go, and `verdict` what an attempt's end says about the target:

    closed --failures in a row--> open --rest over--> half open --a probe is answered--> closed
                                    ^------------ the probe fails, twice the rest ----'

An answer of any kind shows that the target lives; only 5xx, silence and a broken connection speak
against it. What went wrong on our own side says nothing.

How fast? `RateLimit` keeps an even pace with a little slack (GCRA, a leaky bucket): how many may go
now, and when the next one. fastlane/lua/limit_take.lua decides the same for all nodes together;
this one is for when Redis is gone, and every node keeps to its share of the rate by itself.

By what name? Limits, breakers, who is disabled and whose key signs are asked under one name, which
is also what is connected to. `https://api.shop.example/hooks` -> `api.shop.example`; any port but
443 is written with it: `http://127.0.0.1:8080/` -> `127.0.0.1:8080`, `http://shop.example/` ->
`shop.example:80`. A host has one name, whatever it is called by: in lower case, without a last dot,
what is not ASCII as IDNA has it (`bücher.example` -> `xn--bcher-kva.example`, `①②⑦.0.0.1` ->
`127.0.0.1`), an IPv6 address as short as it goes, one that is a mapped IPv4 address as that one. A
spelling that some read as another address than others is none: `0177.1`, `0x7f.1`, `2130706433`.
The newest migration of `windlass.target_of` reads the same for jobs that come by SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from windlass.extras import server_parts
from windlass.limits import URL_CHARS_MAX
from windlass.model.job.outcome import (
    Awaited,
    Cancelled,
    Crashed,
    Failed,
    Outcome,
    Snoozed,
    Succeeded,
    TimedOut,
)
from windlass.model.json.printable import CHAR_PATTERN
from windlass.model.row import Row

# -- circuit breaker and limits --------------------------------------------------------------------

Breaker = Literal["closed", "open", "half_open"]
ParkedFor = Literal["disabled", "breaker", "rate", "max_running", "crowded"]
Verdict = Literal["answered", "failed", "gone", "neutral"]

BREAKER_FAILURES: Final = 10  # in a row, to open: what the column's default says
# Of failures that say nothing about the target.
_OUR_CAUSES: Final = frozenset(
    {
        "egress_refused",
        "secret",
        "secret_not_for_host",
        "signing_unavailable",
        "auth",
        "invalid_input",
        "unknown_kind",
        # Its address names another target than the one it was accepted for.
        "target",
        # The node that delivers lacks something: descriptors, ports, memory, a way out.
        "out of sockets",
        "no route",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target as its row tells."""

    host: str
    is_enabled: bool = True
    rate: float | None = None  # deliveries a second; None: no limit
    max_running: int | None = None  # None: no limit
    breaker: Breaker = "closed"
    open_until: datetime | None = None  # None: closed
    failures: int = BREAKER_FAILURES  # in a row, to open; 0: never

    @property
    def is_ordinary(self) -> bool:
        """Nothing is known of it that a target nobody knows would not have."""
        return self.is_unlimited and self.failures == BREAKER_FAILURES

    @property
    def is_unlimited(self) -> bool:
        closed = self.is_enabled and self.breaker == "closed"
        return closed and self.rate is None and self.max_running is None


def target_from(row: Row) -> Target:
    return Target(
        host=row["host"],
        is_enabled=row["is_enabled"],
        rate=row["rate"],
        max_running=row["max_running"],
        breaker=row["breaker"],
        open_until=row["open_until"],
        failures=row["breaker_failures"],
    )


def reason_to_park(target: Target, *, has_pass: bool) -> ParkedFor | None:
    """What keeps a delivery from its target; None: it may go.

    A pass says that the limits were asked under the target's lock, and that an open breaker wants
    this one as its probe.
    """
    if not target.is_enabled:
        return "disabled"
    if has_pass:
        return None
    if target.breaker != "closed":
        return "breaker"
    if target.rate is not None:
        return "rate"
    return None if target.max_running is None else "max_running"


def unpark_count(target: Target, now: datetime, *, passes: int, probes: int, most: int) -> int:
    """How many parked jobs of a target may go. `passes` are out already; `most` is what the
    rate, or the node that asks, has room for.
    """
    if not target.is_enabled:
        return 0
    if target.breaker == "open" and target.open_until is not None and target.open_until > now:
        return 0
    if target.breaker != "closed":
        return max(0, probes - passes)
    if target.max_running is not None:
        most = min(most, target.max_running - passes)
    return max(0, most)


def verdict(outcome: Outcome, status_code: int | None) -> Verdict:
    """What an attempt's end says about its target."""
    match outcome:
        case Succeeded() | Awaited():
            return "answered"
        case Failed(cause):
            if status_code is None:
                return "neutral" if cause in _OUR_CAUSES else "failed"
            if cause == "gone":
                return "gone"
            return "failed" if status_code >= 500 else "answered"
        case TimedOut():
            return "failed"
        case Cancelled() | Snoozed() | Crashed():
            return "neutral"


# -- rate limit ------------------------------------------------------------------------------------

# What is let go at once may run so far ahead of the pace; a single one always may.
SLACK_SECONDS: Final = 0.02
# What sums of seconds lose.
_ROUNDING: Final = 1e-6


def tolerance_seconds(rate: float) -> float:
    """How far ahead of the pace a burst may be: `SLACK_SECONDS` hold so many more than one."""
    return max(0.0, SLACK_SECONDS - 1 / rate)


@dataclass(slots=True)
class RateLimit:
    """Of one target, or caller, or queue. `due_at` is when the next one is due, in seconds of any
    steady clock. `tolerance`: how far ahead of the pace a burst may be; None: as of targets.
    """

    due_at: float = 0.0

    def room(self, rate: float, now: float, tolerance: float | None = None) -> int:
        """How many may go now."""
        if tolerance is None:
            tolerance = tolerance_seconds(rate)
        left = now + tolerance - max(self.due_at, now)
        return 0 if left < -_ROUNDING else int(max(0.0, left) * rate + _ROUNDING) + 1

    def take(
        self, rate: float, wanted: int, now: float, tolerance: float | None = None
    ) -> tuple[int, float]:
        """How many of `wanted` may go now, and the seconds until another could."""
        if tolerance is None:
            tolerance = tolerance_seconds(rate)
        granted = min(wanted, self.room(rate, now, tolerance))
        self.due_at = max(self.due_at, now) + granted / rate
        return granted, max(0.0, self.due_at - tolerance - now)


# -- its name --------------------------------------------------------------------------------------

TARGET_CHARS_MAX = 300
_NAME_CHARS_MAX: Final = 253

_NAME: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_NUMERIC: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}")


def target_of(url: str) -> str | None:
    """The target of an address, or None when it is not one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return None
    try:
        name = host_name(host)
    except ValueError:
        return None
    return write_target(name, port or (443 if parts.scheme == "https" else 80))


def write_target(host: str, port: int) -> str:
    """`host` is as host_name gives it."""
    shown = f"[{host}]" if ":" in host else host
    return shown if port == 443 else f"{shown}:{port}"


def read_target(text: str) -> str:
    """A target as a person writes it. Raises ValueError that says what one looks like."""
    found = target_of(text if "://" in text else f"https://{text}")
    if found is None or any(mark in text.split("://")[-1] for mark in "/?#@"):
        raise ValueError("must be a host, with its port unless that is 443: shop.example:8080")
    return found


# A receiver is called again and again.
@lru_cache(maxsize=1_000)
def host_name(host: str) -> str:
    """The one name of a host, an IPv6 address without brackets. Raises ValueError that says why it
    has none.
    """
    if len(host) > _NAME_CHARS_MAX:
        raise ValueError(f"its host has more than {_NAME_CHARS_MAX} characters")
    if ":" in host:
        return _ipv6_name(host)
    written = host.lower() if host.isascii() else _ascii_name(host)
    name = written.removesuffix(".")
    if len(name) > _NAME_CHARS_MAX or not _NAME.fullmatch(name):
        raise ValueError("its host must have letters, digits, dots, hyphens and underscores only")
    if _NUMERIC.fullmatch(name) and not _IPV4.fullmatch(written):
        # Some read 0177.1 as 127.0.0.1, others as 177.0.0.1, and others as a name.
        raise ValueError("its host ends with a number, but is no address like 192.0.2.1")
    return name


def _ascii_name(host: str) -> str:
    # Here, because nearly nobody needs it.
    with server_parts("a host name beyond ASCII"):
        import idna

    try:
        return idna.encode(host, uts46=True, std3_rules=False).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise ValueError("its host is no name that IDNA knows; write it as xn--…") from None


def _ipv6_name(host: str) -> str:
    try:
        found = IPv6Address(host)
    except ValueError:
        raise ValueError("its host is no IPv6 address like [2001:db8::1]") from None
    if found.scope_id is not None:
        raise ValueError("its host has a zone, which names another network on every machine")
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return found.compressed


# -- its name in JSON Schema -----------------------------------------------------------------------

# For schemas: the same as far as a regular expression can say it, in what every engine knows.
_GROUP: Final = "[0-9A-Fa-f]{1,4}"
_LABEL: Final = "[A-Za-z0-9_-]{1,63}"
_V4_PATTERN: Final = _IPV4.pattern.replace("?:", "")
# The last label begins with a letter: what ends with a number is an address, or nothing.
WORDS_PATTERN: Final = rf"({_LABEL}\.){{0,3}}[A-Za-z_][A-Za-z0-9_-]{{0,57}}\.?"
_V6_PATTERN: Final = "|".join(
    [
        f"({_GROUP}:){{7}}{_GROUP}",
        f"::(({_GROUP}:){{0,5}}{_GROUP})?",
        f"({_GROUP}:){{1,6}}:",
        rf"::[Ff]{{4}}:{_V4_PATTERN}",
        *(f"({_GROUP}:){{1,{n}}}(:{_GROUP}){{1,{7 - n}}}" for n in range(1, 7)),
    ]
)
PORT_PATTERN: Final = (
    "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
)
HOST_PATTERN: Final = rf"({WORDS_PATTERN}|{_V4_PATTERN}|\[({_V6_PATTERN})\])(:{PORT_PATTERN})?"
# In the address of a job a name may have many labels, and a last one that begins with a digit,
# unless all of it is a number. Letters beyond ASCII are taken too, and which of them IDNA decides.
_CHAR: Final = "[A-Za-z0-9_-]"
_NAME_PATTERN: Final = (
    rf"({_CHAR}+\.)*([A-Za-z_-]{_CHAR}*|[1-9][0-9]*[A-Za-z_-]{_CHAR}*"
    rf"|0[0-9]+[A-Za-z_-]{_CHAR}*|0[A-WYZa-wyz_-]{_CHAR}*|0[Xx][0-9A-Fa-f]*[G-Zg-z_-]{_CHAR}*)\.?"
)
URL_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "maxLength": URL_CHARS_MAX,
    "pattern": rf"^[Hh][Tt][Tt][Pp][Ss]?://({_NAME_PATTERN}|{_V4_PATTERN}|\[({_V6_PATTERN})\])"
    rf"(:0*{PORT_PATTERN}|:)?([/?#]{CHAR_PATTERN}*)?$",
    # Too long: the host, or one of its labels.
    "not": {"pattern": r"^[^/]*//([^/?#:]{254}|[^/?#]*[^/?#.:]{64})"},
}
