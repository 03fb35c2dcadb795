"""The Redis client that a URL asks for: one server, one behind Sentinels, or a Cluster.

    redis://user:password@host:6379/0        rediss:// is the same with TLS
    unix:///run/valkey.sock
    redis+sentinel://user:password@one:26379,two:26379/service/0
    redis+cluster://user:password@one:6379,two:6379
    rediss://user:password@host:6379/0?ssl_ca_certs=/etc/windlass/ca.crt

With TLS a server must prove who it is, by name; `?ssl_ca_certs=…` says whom to believe (else whom
the machine does), `ssl_certfile` and `ssl_keyfile` are ours. Sentinels are spoken to likewise.
Of a Cluster some hosts are enough: the rest, and whatever changes, they tell. Of Sentinels, those
that are named are asked.
Never: connects. A client finds its server with the first call, and again after each failure.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from redis.asyncio import Redis, RedisCluster, Sentinel
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, RedisClusterException, RedisError

from windlass.config.addresses import TLS_SWITCH, TLS_WORDS
from windlass.config.hosts import hosts_of
from windlass.limits import FASTLANE_CONNECT_SECONDS

Client = Redis | RedisCluster

CONNECTIONS_MAX: Final = 8
SENTINEL_PORT, PORT = 26379, 6379
# What a call to any of them may raise when the other side is the trouble.
TROUBLE: Final = (RedisError, RedisClusterException, OSError, TimeoutError)
# The user of the URL may not do what a node does: see deploy/redis/windlass.acl.
DENIED: Final = NoPermissionError


def client_of(url: str, *, seconds: float = FASTLANE_CONNECT_SECONDS) -> Client:
    """`seconds` bounds every wait for a socket; a caller's own deadline may be shorter."""
    deadlines: dict[str, Any] = {"socket_timeout": seconds, "socket_connect_timeout": seconds}
    match urlsplit(url).scheme.removeprefix("rediss").removeprefix("redis"):
        case "+sentinel":
            return _behind_sentinels(url, deadlines)
        case "+cluster":
            return _of_a_cluster(url, deadlines)
        case _:
            return Redis.from_url(url, max_connections=CONNECTIONS_MAX, **deadlines)


def is_verified(url: str) -> bool:
    """Whether a server must prove who it is, by name."""
    asked = parse_qs(urlsplit(url).query)
    return (
        urlsplit(url).scheme.startswith("rediss")
        and asked.get("ssl_cert_reqs", ["required"])[-1] == "required"
        and asked.get(TLS_SWITCH, ["true"])[-1] == "true"
    )


async def look_around(client: Client) -> None:
    """Draw the map of a Cluster, or draw it anew: a subscriber alone does not notice changes."""
    if isinstance(client, RedisCluster):
        await client.aclose()
        await client.initialize()


async def close_client(client: Client) -> None:
    """The client, and the Sentinels that it asked."""
    try:
        await client.aclose()
    finally:
        if isinstance(client, RedisCluster):
            # After a failed call it counts as one that has yet to begin, and closes nothing.
            await client.nodes_manager.aclose()
            await client.nodes_manager.aclose("startup_nodes")
        elif isinstance(client.connection_pool, SentinelConnectionPool):
            await client.connection_pool.sentinel_manager.aclose()


class Sentinels(Sentinel):
    """The Sentinels of one service.

    redis-py puts the one that answered first in its list. Of several connections that look for the
    primary at once, the later ones do so by positions that are not right any more, and overwrite
    another: it would never be asked again, and its connection never closed.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self._all: tuple[Redis, ...] = tuple(self.sentinels)

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        try:
            found: tuple[str, int] = await super().discover_master(service_name)
        finally:
            self.sentinels = list(dict.fromkeys((*self.sentinels, *self._all)))
        return found


def _behind_sentinels(url: str, deadlines: dict[str, Any]) -> Redis:
    """Sentinels may have credentials of their own: `?sentinel_username=…&sentinel_password=…`."""
    query = {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}
    service, _, database = urlsplit(url).path.strip("/").partition("/")
    sentinels: Any = Sentinels(
        [(host.name, host.port) for host in hosts_of(url, SENTINEL_PORT)],
        sentinel_kwargs={
            **deadlines,
            "retry": Retry(NoBackoff(), 0),  # the next Sentinel is the second try
            "username": query.get("sentinel_username"),
            "password": query.get("sentinel_password"),
            **_tls(url),
        },
    )
    client: Redis = sentinels.master_for(
        unquote(service),
        db=int(database or 0),
        max_connections=CONNECTIONS_MAX,
        **_credentials(url),
        **_tls(url),
        **deadlines,
    )
    return client


def _of_a_cluster(url: str, deadlines: dict[str, Any]) -> RedisCluster:
    return RedisCluster(
        startup_nodes=[ClusterNode(host.name, host.port) for host in hosts_of(url, PORT)],
        # A slot that nobody serves for a moment is no reason to give up the others.
        require_full_coverage=False,
        # Slots that have moved are noted one by one. Else after a few of them the client closes
        # everything, and connections of calls that are under way meanwhile are never closed.
        reinitialize_steps=0,
        max_connections=CONNECTIONS_MAX,
        **_credentials(url),
        **_tls(url),
        **deadlines,
    )


def _credentials(url: str) -> dict[str, Any]:
    user, _, password = urlsplit(url).netloc.rpartition("@")[0].partition(":")
    return {"username": unquote(user) or None, "password": unquote(password) or None}


def _tls(url: str) -> dict[str, Any]:
    if not urlsplit(url).scheme.startswith("rediss"):
        return {}
    query = {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}
    asked: dict[str, Any] = {name: query[name] for name in TLS_WORDS if name in query}
    return {"ssl": True, TLS_SWITCH: query.get(TLS_SWITCH) != "false", **asked}
