"""The hosts that a URL names, where it may name several: `one:5432,two:5432`."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

HOSTS_MAX = 64
_PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class Host:
    name: str  # a name, an IP address, or the folder of a socket
    port: int

    def __str__(self) -> str:
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"


def hosts_of(url: str, port: int) -> list[Host]:
    """Those of `//user@here,and,here/…`, or of `?host=…&port=…` as PostgreSQL has it.

    Where a host has no port it is `port`. Raises ValueError.
    """
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    named = (parts.netloc.rpartition("@")[2] or query.get("host", "")).split(",")
    ports = query.get("port", str(port)).split(",")
    if len(ports) == 1:
        ports *= len(named)
    if len(named) > HOSTS_MAX:
        raise ValueError(f"more than {HOSTS_MAX} hosts")
    return [_host(unquote(text), own) for text, own in zip(named, ports, strict=True)]


def _host(text: str, port: str) -> Host:
    if text.startswith("/"):
        return Host(text, _port(port))
    if text.startswith("["):
        name, _, rest = text[1:].partition("]")
        own = rest.removeprefix(":")
    else:
        name, _, own = text.partition(":")
    return Host(name, _port(own or port))


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= _PORT_MAX):
        raise ValueError(f"{text} is no port")
    return int(text)
