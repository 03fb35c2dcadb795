"""Validation of settings: how a raw value becomes a checked one.

A parser raises ValueError, and has the words for what it allows. Raw values come as text
(environment, flags) or typed (TOML, flags); a parser takes both and is as strict with either.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from windlass import duration, limits
from windlass.config import secret_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    parse: Callable[[object], object]
    allowed: str


_WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)
_HOST_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE | re.ASCII)
_QUEUE = re.compile(
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.:\-]{0,127})(=(?P<weight>[1-9][0-9]{0,3}))?", re.ASCII
)
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_APP = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def whole_number(low: int, high: int) -> Parser:
    def parse(value: object) -> int:
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError
        return value

    return Parser(parse=parse, allowed=f"a whole number from {low} to {high}")


def bound(high: int) -> Parser:
    """A limit that can be lifted: 0 becomes None."""
    number = whole_number(0, high)
    return Parser(
        parse=lambda value: number.parse(value) or None,
        allowed=f"{number.allowed}, where 0 means no limit",
    )


def rate(low: float, high: float) -> Parser:
    """So many a second. It can be lifted: 0 becomes None."""

    def parse(value: object) -> float | None:
        if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if value == 0:
            return None
        if not low <= value <= high:
            raise ValueError
        return float(value)

    return Parser(
        parse=parse, allowed=f"a number from {low} to {high:.0f} a second, where 0 means no limit"
    )


def seconds(low: float, high: float) -> Parser:
    """A duration. Environment and flags are text, so a bare number in quotes is seconds too."""

    def parse(value: object) -> float:
        if isinstance(value, str):
            text = value.strip()
            value = float(text) if _DECIMAL.fullmatch(text) else text
        length = duration.parse_seconds(value, high)
        if length < low:
            raise ValueError
        return length

    return Parser(parse=parse, allowed=f"{duration.ALLOWED}; from {low:g} to {high:.15g} seconds")


def url(*schemes: str, like: str) -> Parser:
    def parse(value: object) -> str:
        text = plain_text(value, chars_max=4096)
        parts = urlsplit(text)
        if parts.scheme not in schemes or not text.startswith(f"{parts.scheme}://"):
            raise ValueError
        if not (parts.netloc or parts.path.strip("/")) or re.search(r"\s", text):
            raise ValueError
        return text

    return Parser(parse=parse, allowed=f"an address like {like}")


def one_of(*words: str) -> Parser:
    def parse(value: object) -> str:
        text = plain_text(value).lower()
        if text not in words:
            raise ValueError
        return text

    return Parser(parse=parse, allowed=" or ".join(words))


def switch() -> Parser:
    """on or off; TOML's own true and false mean the same."""
    words = one_of("on", "off")

    def parse(value: object) -> object:
        if isinstance(value, bool):
            return "on" if value else "off"
        return words.parse(value)

    return Parser(parse=parse, allowed=words.allowed)


def subset(*words: str) -> Parser:
    """At least one of `words`, in the order of `words`."""

    def parse(value: object) -> tuple[str, ...]:
        given = text_list(value)
        if not given or not set(given) <= set(words):
            raise ValueError
        return tuple(word for word in words if word in given)

    return Parser(parse=parse, allowed=f"one or more of {', '.join(words)}, separated by commas")


def matching(check: Callable[[str], bool], allowed: str) -> Parser:
    def parse(value: object) -> str:
        text = plain_text(value)
        if not check(text):
            raise ValueError
        return text

    return Parser(parse=parse, allowed=allowed)


def network_list() -> Parser:
    def parse(value: object) -> tuple[str, ...]:
        given = text_list(value)
        if not all(is_network(item) or is_host_pattern(item) for item in given):
            raise ValueError
        return tuple(given)

    return Parser(
        parse=parse,
        allowed='CIDRs or hosts separated by commas, like "10.0.0.0/8, hooks.internal, *.local"',
    )


def cidr_list(items_max: int) -> Parser:
    """Networks, or single addresses; none that stands for everybody."""

    def parse(value: object) -> tuple[str, ...]:
        given = text_list(value, items_max=items_max)
        networks = [ip_network(item) for item in given if "%" not in item]
        if len(networks) < len(given) or not all(network.prefixlen for network in networks):
            raise ValueError
        return tuple(str(network) for network in networks)

    return Parser(
        parse=parse,
        allowed=f'at most {items_max} CIDRs or addresses separated by commas, like "10.0.0.5, '
        '10.1.0.0/24", and not all addresses there are',
    )


def queue_list(*, weighted: bool) -> Parser:
    """Names of queues, each of them once; some perhaps with a weight: `mail=3`."""

    def parse(value: object) -> tuple[str, ...]:
        given = text_list(value, items_max=limits.SERVED_QUEUES_MAX)
        found = [_QUEUE.fullmatch(item.replace(" ", "")) for item in given]
        names = [match["name"] for match in found if match is not None]
        if len(set(names)) < len(given) or not (
            weighted or all(m and not m["weight"] for m in found)
        ):
            raise ValueError
        if any(int(m["weight"]) > limits.QUEUE_WEIGHT_MAX for m in found if m and m["weight"]):
            raise ValueError
        return tuple(match[0] for match in found if match is not None)

    like = "mail, reports" + (", or with weights mail=3, reports=1" if weighted else "")
    return Parser(parse=parse, allowed=f"names of queues separated by commas, like {like}")


def key_list() -> Parser:
    """Kept as it was written: whoever encrypts reads the keys, and the file that it may name."""

    def parse(value: object) -> str:
        text = plain_text(value, chars_max=4096)
        if not text.removeprefix(secret_key.FILE):
            raise ValueError
        if not text.startswith(secret_key.FILE):
            secret_key.decode_keys(text)
        return text

    return Parser(parse=parse, allowed=secret_key.ALLOWED)


def web_origin() -> Parser:
    """https://host[:port] and nothing behind it; http only where nobody can listen."""

    def parse(value: object) -> str:
        text = plain_text(value).removesuffix("/")
        parts = _web(text)
        if parts.path or parts.query or parts.fragment or text.endswith(("?", "#")):
            raise ValueError
        return f"{parts.scheme}://{parts.netloc.lower()}"

    return Parser(
        parse=parse,
        allowed="an address like https://windlass.example.com, without a path; http only of "
        "localhost",
    )


def issuer() -> Parser:
    """Kept to the letter: a token's `iss` is compared with it so."""

    def parse(value: object) -> str:
        text = plain_text(value)
        parts = _web(text)
        if parts.query or parts.fragment or text.endswith(("?", "#")):
            raise ValueError
        return text

    return Parser(
        parse=parse,
        allowed="an issuer like https://login.example.com/realms/main, without a query; http only "
        "of localhost",
    )


def _web(text: str) -> SplitResult:
    """An address of the web that only its owner can answer at. Raises ValueError."""
    parts = urlsplit(text)
    port = parts.port  # raises what is none
    if not text.isascii() or re.search(r"[\s\\\"<>]", text) or "@" in parts.netloc or port == 0:
        raise ValueError
    if not parts.hostname or not is_host(parts.hostname) or parts.netloc.endswith(":"):
        raise ValueError
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname)):
        raise ValueError
    return parts


def visible(chars_max: int) -> Parser:
    """ASCII as it is typed: what somebody else has issued (RFC 6749 §A.1)."""

    def parse(value: object) -> str:
        text = plain_text(value, chars_max=chars_max)
        if not text.isascii():
            raise ValueError
        return text

    return Parser(parse=parse, allowed=f"at most {chars_max} visible ASCII characters")


def scopes() -> Parser:
    """Of OAuth (RFC 6749 §3.3), of which OpenID Connect needs one."""

    def parse(value: object) -> str:
        words = plain_text(value).split()
        if "openid" not in words or not all(_SCOPE.fullmatch(word) for word in words):
            raise ValueError
        return " ".join(dict.fromkeys(words))

    return Parser(parse=parse, allowed="scopes between spaces, openid among them")


def role_list(*roles: str) -> Parser:
    """What others call a group, and the role that it has here. A name may hold =, a role not."""

    def parse(value: object) -> tuple[str, ...]:
        pairs: dict[str, str] = {}
        for item in text_list(value, items_max=limits.OIDC_ROLES_MAX):
            name, _, role = (part.strip() for part in item.rpartition("="))
            if not name or role not in roles or pairs.setdefault(name, role) != role:
                raise ValueError
        return tuple(f"{name}={role}" for name, role in pairs.items())

    return Parser(
        parse=parse,
        allowed="groups and roles like windlass-admins=admin, staff=viewer, separated by commas; "
        f"roles are {' '.join(roles)}",
    )


def folder() -> Parser:
    def parse(value: object) -> Path:
        text = plain_text(str(value) if isinstance(value, Path) else value, chars_max=4096)
        # Only a shell expands ~; taken literally it would make a folder of that name.
        if text.startswith("~"):
            raise ValueError
        return Path(text)

    return Parser(parse=parse, allowed="a folder, absolute or below the current one, without ~")


def file() -> Parser:
    place = folder()
    return Parser(parse=place.parse, allowed=place.allowed.replace("folder", "file"))


def is_host(text: str) -> bool:
    """An IP address or a name that can be looked up, without a port."""
    try:
        ip_address(text)
    except ValueError:
        labels = text.removesuffix(".").split(".")
        # A name whose last label is all digits is a mistyped address (RFC 3696 §2).
        return (
            len(text) <= 253
            and all(_HOST_LABEL.fullmatch(label) for label in labels)
            and not labels[-1].isdigit()
        )
    return True


def is_host_pattern(text: str) -> bool:
    """A host, or `*.` and the end of names; no address below `*.`, and none with a zone."""
    name = text.removeprefix("*.")
    return is_host(name) and "%" not in name and (name == text or not is_address(name))


def is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return "/" in text and "%" not in text


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def app_list() -> Parser:
    """One or several; kept as one text with commas between, each once."""

    def parse(value: object) -> str:
        paths = list(dict.fromkeys(text_list(value)))
        if not paths or not all(_APP.fullmatch(path) for path in paths):
            raise ValueError
        return ",".join(paths)

    return Parser(
        parse=parse, allowed="module:attr, like shop.tasks:app, or several separated by commas"
    )


def is_name(text: str) -> bool:
    return len(text) <= limits.NAME_CHARS_MAX and not re.search(r"\s", text)


def plain_text(value: object, *, chars_max: int = 1024) -> str:
    if not isinstance(value, str):
        raise ValueError
    text = value.strip()
    if not text.isprintable() or not 0 < len(text) <= chars_max:
        raise ValueError
    return text


def text_list(value: object, *, items_max: int = 1000) -> list[str]:
    """A TOML list, or text separated by commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or len(items) > items_max:
        raise ValueError
    return [plain_text(item) for item in items]
