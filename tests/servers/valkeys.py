"""Several Valkeys that belong together: some watched by Sentinels, some a Cluster."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.ports import free_ports
from tests.servers.scratch import scratch_folder
from tests.until import until
from windlass.embedded.child import Order
from windlass.embedded.valkey import EmbeddedValkey

SLOTS = 16_384
SERVICE, PASSWORD = "windlass", "of-these-servers"
# A silent server is given up after so long: short where one is to be, and else longer than any
# pause of a busy machine.
DOWN_AFTER_MS, PATIENT_MS = 1_000, 15_000


class Valkey(EmbeddedValkey):
    """One server by its port, with a client to give it orders."""

    def __init__(self, data: Path, port: int, settings: Mapping[str, str] | None = None) -> None:
        # One password for all of them: each logs in at the others.
        settings = {"masterauth": PASSWORD, **(settings or {})}
        super().__init__(data, settings=settings, listen=f"127.0.0.1:{port}")
        self.password.path.parent.mkdir(mode=0o700)
        self.password.path.write_text(PASSWORD)
        self.port = port
        self.client: Any = Redis(
            port=port, password=PASSWORD, socket_timeout=2, socket_connect_timeout=2
        )

    async def stop(self, *, at_once: bool = False) -> None:
        await self.client.aclose()
        await super().stop(at_once=at_once)

    async def tell(self, *words: str | int) -> Any:
        return await self.client.execute_command(*words)


class SentinelServer(Valkey):
    """Reads everything from a file, into which it also writes what it finds out."""

    def __init__(
        self, data: Path, port: int, watched: Valkey, quorum: int, down_after_ms: int
    ) -> None:
        super().__init__(data, port)
        self._watched, self._quorum, self._down_after_ms = watched, quorum, down_after_ms

    async def prepare(self) -> Order:
        order = await super().prepare()
        path = self.home / "sentinel.conf"
        path.write_text(
            f"port {self.port}\nbind 127.0.0.1\nprotected-mode no\nlogfile ''\ndir {self.home}\n"
            f"requirepass {PASSWORD}\nsentinel auth-pass {SERVICE} {PASSWORD}\n"
            f"sentinel monitor {SERVICE} 127.0.0.1 {self._watched.port} {self._quorum}\n"
            f"sentinel down-after-milliseconds {SERVICE} {self._down_after_ms}\n"
            f"sentinel failover-timeout {SERVICE} 5000\n"
        )
        if order.account is not None:
            shutil.chown(path, order.account.uid, order.account.gid)
        return replace(order, argv=(order.argv[0], str(path), "--sentinel"), stdin=b"")

    async def answers(self) -> bool:
        try:
            return bool(await self.client.ping())
        except (RedisError, OSError):
            return False


def _home(folder: Path, name: object) -> Path:
    home = folder / str(name)
    home.mkdir(0o711)
    return home


async def _started(stack: AsyncExitStack, *servers: Valkey) -> None:
    for server in servers:
        stack.push_async_callback(server.stop, at_once=True)
    await asyncio.gather(*(server.start() for server in servers))


class Watched:
    """A primary and its replica under three Sentinels."""

    def __init__(self, one: Valkey, two: Valkey, sentinels: list[SentinelServer]) -> None:
        self.primary, self.replica, self.sentinels = one, two, sentinels

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://:{PASSWORD}@{hosts}/{SERVICE}/0?sentinel_password={PASSWORD}"

    async def until_watched(self) -> None:
        """Each Sentinel knows the replica and the other two: now a failover can be agreed on."""

        async def is_so() -> bool:
            for sentinel in self.sentinels:
                told = await sentinel.client.sentinel_master(SERVICE)
                if told["num-slaves"] != 1 or told["num-other-sentinels"] != 2:
                    return False
            told = await self.replica.client.info("replication")
            return bool(told["master_link_status"] == "up")

        await until(is_so, what="the Sentinels know each other")

    async def until_promoted(self) -> None:
        await _promoted(self.replica)


@asynccontextmanager
async def open_watched(*, down_after_ms: int = DOWN_AFTER_MS) -> AsyncIterator[Watched]:
    with scratch_folder() as folder:
        async with AsyncExitStack() as stack:
            ports = free_ports(5)
            one = Valkey(_home(folder, "one"), ports[0])
            two = Valkey(_home(folder, "two"), ports[1], {"replicaof": f"127.0.0.1 {ports[0]}"})
            await _started(stack, one, two)
            sentinels = [
                SentinelServer(_home(folder, port), port, one, 2, down_after_ms)
                for port in ports[2:]
            ]
            await _started(stack, *sentinels)
            watched = Watched(one, two, sentinels)
            await watched.until_watched()
            yield watched


class ClusterOfThree:
    """Three primaries with a third of the slots each, and a replica of the first."""

    def __init__(self, primaries: list[Valkey], replica: Valkey) -> None:
        self.primaries, self.replica = primaries, replica
        self.ids: dict[Valkey, str] = {}

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self.primaries)
        return f"redis+cluster://:{PASSWORD}@{hosts}"

    async def form(self) -> None:
        servers = [*self.primaries, self.replica]
        for server in servers:
            self.ids[server] = (await server.tell("CLUSTER", "MYID")).decode()
        for number, server in enumerate(self.primaries):
            first, last = number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1
            await server.tell("CLUSTER", "ADDSLOTSRANGE", first, last)
        for other in servers[1:]:
            bus = other.settings["cluster-port"]
            await servers[0].tell("CLUSTER", "MEET", "127.0.0.1", other.port, bus)
        await self.until_all_say("cluster_known_nodes:4")
        await self.replica.tell("CLUSTER", "REPLICATE", self.ids[self.primaries[0]])
        await self.until_all_say("cluster_state:ok")

        async def follows() -> bool:
            told = await self.replica.client.info("replication")
            return bool(told.get("master_link_status") == "up")

        await until(follows, what="the replica follows")

    async def until_all_say(self, words: str) -> None:
        async def is_so() -> bool:
            told = [
                await server.tell("CLUSTER", "INFO") for server in [*self.primaries, self.replica]
            ]
            return all(words in _text(answer) for answer in told)

        await until(is_so, what=f"all say {words}")

    async def until_promoted(self) -> None:
        await _promoted(self.replica)

    def first_owner_of(self, slot: int) -> Valkey:
        """Who had it when the Cluster was formed."""
        return next(
            server
            for number, server in reversed(list(enumerate(self.primaries)))
            if slot >= number * SLOTS // 3
        )

    async def move(self, slot: int, source: Valkey, sink: Valkey) -> None:
        """As a rebalancing does it: both know, keys go one by one, then the slot is the other's."""
        await self.begin_to_move(slot, source, sink)
        while await self.move_some(slot, source, sink, 100):
            pass
        await self.end_move(slot, source, sink)

    async def begin_to_move(self, slot: int, source: Valkey, sink: Valkey) -> None:
        await sink.tell("CLUSTER", "SETSLOT", slot, "IMPORTING", self.ids[source])
        await source.tell("CLUSTER", "SETSLOT", slot, "MIGRATING", self.ids[sink])

    async def move_some(self, slot: int, source: Valkey, sink: Valkey, count: int) -> bool:
        """False: there was none."""
        keys = await source.tell("CLUSTER", "GETKEYSINSLOT", slot, count)
        if keys:
            await source.tell(
                "MIGRATE", "127.0.0.1", sink.port, "", 0, 20000, "AUTH", PASSWORD, "KEYS", *keys
            )
        return bool(keys)

    async def end_move(self, slot: int, source: Valkey, sink: Valkey) -> None:
        for server in (sink, source):
            await server.tell("CLUSTER", "SETSLOT", slot, "NODE", self.ids[sink])

    async def until_all_know(self, slot: int, owner: Valkey) -> None:
        """Before it all know, a slot that moves the other way may be claimed by two."""

        async def is_so() -> bool:
            for server in self.primaries:
                ranges = await server.tell("CLUSTER", "SLOTS")
                ports = [who[1] for first, last, who, *_ in ranges if first <= slot <= last]
                if ports != [owner.port]:
                    return False
            return True

        await until(is_so, what=f"all know who has slot {slot}")


async def _promoted(replica: Valkey) -> None:
    async def is_so() -> bool:
        return bool((await replica.client.info("replication"))["role"] == "master")

    await until(is_so, what="the replica is the primary")


def _text(answer: Any) -> str:
    if isinstance(answer, dict):
        return "\n".join(f"{name}:{value}" for name, value in answer.items())
    return str(answer.decode() if isinstance(answer, bytes) else answer)


@asynccontextmanager
async def open_cluster_of_three(
    *, node_timeout_ms: int = PATIENT_MS
) -> AsyncIterator[ClusterOfThree]:
    with scratch_folder() as folder:
        async with AsyncExitStack() as stack:
            ports = free_ports(8)
            servers = [
                Valkey(
                    _home(folder, port),
                    port,
                    {
                        "cluster-enabled": "yes",
                        "cluster-port": str(bus),
                        "cluster-node-timeout": str(node_timeout_ms),
                    },
                )
                for port, bus in zip(ports[:4], ports[4:], strict=True)
            ]
            await _started(stack, *servers)
            formed = ClusterOfThree(servers[:3], servers[3])
            await formed.form()
            yield formed
