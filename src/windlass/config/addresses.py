"""Validation of database and Redis URLs: a slip is named before anything starts."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs, urlsplit

from windlass.config import parsers
from windlass.config.hosts import hosts_of

_ATTRIBUTES: Final = ("any", "primary", "standby", "read-write", "read-only", "prefer-standby")
_SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_REDIS: Final = ("redis", "rediss")
_SENTINEL: Final = ("redis+sentinel", "rediss+sentinel")
_CLUSTER: Final = ("redis+cluster", "rediss+cluster")
# Of rediss://, by the names that redis-py has for them.
TLS_WORDS: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")
TLS_SWITCH: Final = "ssl_check_hostname"
_TLS_NEEDS: Final = ("none", "optional", "required")


def postgresql() -> parsers.Parser:
    like = "postgresql://user:password@host:5432/database"
    address = parsers.url("postgresql", "postgres", like=like)

    def parse(value: object) -> object:
        text = str(address.parse(value))
        hosts_of(text, 5432)
        _one_of(text, "target_session_attrs", *_ATTRIBUTES)
        _one_of(text, "pgbouncer", "true", "false")
        _one_of(text, "sslmode", *_SSL_MODES)
        return text

    return parsers.Parser(
        parse=parse,
        allowed=f"{address.allowed}, with more hosts after commas if there are any, and with "
        f"?sslmode={'|'.join(_SSL_MODES)}",
    )


def redis() -> parsers.Parser:
    address = parsers.url(
        *_REDIS, "unix", *_SENTINEL, *_CLUSTER, like="redis://user:password@host:6379/0"
    )

    def parse(value: object) -> object:
        text = str(address.parse(value))
        scheme, path = urlsplit(text).scheme, urlsplit(text).path.strip("/")
        if scheme in (*_SENTINEL, *_CLUSTER):
            hosts_of(text, 6379)
        if scheme in _SENTINEL:
            service, _, database = path.partition("/")
            if not service or not (database or "0").isdecimal():
                raise ValueError
        if scheme in _CLUSTER and path not in ("", "0"):
            raise ValueError  # a Cluster has one database
        named = [name for name in parse_qs(urlsplit(text).query) if name.startswith("ssl")]
        if named and not scheme.startswith("rediss"):
            raise ValueError  # it would be heard by nobody: what was to be encrypted is not
        if not {*named} <= {*TLS_WORDS, TLS_SWITCH}:
            raise ValueError
        _one_of(text, TLS_SWITCH, "true", "false")
        _one_of(text, "ssl_cert_reqs", *_TLS_NEEDS)
        return text

    return parsers.Parser(
        parse=parse,
        allowed=f"{address.allowed}, redis+sentinel://one:26379,two:26379/service/0 "
        "or redis+cluster://one:6379,two:6379; rediss://… with TLS, and then "
        "?ssl_ca_certs=…&ssl_certfile=…&ssl_keyfile=…",
    )


def _one_of(url: str, name: str, *words: str) -> None:
    for value in parse_qs(urlsplit(url).query).get(name, []):
        if value not in words:
            raise ValueError
