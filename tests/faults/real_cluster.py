"""A database with its nodes, the door through which jobs come in, and the witness."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from tests.faults.job_objects import Job, drafts
from tests.faults.nodes import MORTAL, NodeProcess, Nodes
from tests.faults.witness import Witness
from tests.until import PATIENCE_SECONDS, until
from windlass import ids
from windlass.engine.announce import Announcer
from windlass.engine.cluster.node_signals import Signaller
from windlass.engine.effects import Effects
from windlass.engine.follow import Follower
from windlass.engine.jobs.cancel import Stopper, cancel
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.errors import Unavailable
from windlass.fastlane.lane import FastLane
from windlass.fastlane.signals import Signals
from windlass.store.database import Database, Record


class Cluster:
    def __init__(
        self,
        *,
        database: Database,
        lane: FastLane,
        redis_url: str | None,
        nodes: Nodes,
        witness: Witness,
    ) -> None:
        self.database = database
        self.redis_url = redis_url
        self.nodes = nodes
        self.witness = witness
        self.announcer = Announcer(lane)
        self.node_id = uuid4()  # as whom we speak; it runs nothing
        self.signaller = Signaller(database, Signals(lane), lambda: ids.show("node", self.node_id))
        self.stopper = Stopper(self.signaller, self.announcer, lambda: self.node_id)
        self.follower = Follower(database, self.announcer, stop=self.stopper.stop)
        self.enqueuer = Enqueuer(database, follow=self.follower.follow)
        self.accepted: dict[str, UUID] = {}  # by marker: what was answered with an id

    async def start_node(self, *, workers: int = 8, **settings: str) -> NodeProcess:
        # Who looks for a fault reads everything.
        return await self.nodes.start(
            self.database.url,
            self.redis_url,
            workers=workers,
            settings={"WINDLASS_LOG_LEVEL": "debug", **settings},
        )

    async def start_mortal_node(self, *, workers: int = 8, **settings: str) -> NodeProcess:
        """One that is killed, frozen or cut off: the others do not wait for long."""
        return await self.start_node(workers=workers, **MORTAL, **settings)

    async def submit(self, jobs: list[Job]) -> dict[str, UUID]:
        """The ids by marker."""
        answer = await self.enqueuer.submit_batch(drafts(jobs))
        markers = [job["correlation_id"] for job in jobs]
        found = dict(zip(markers, answer.job_ids, strict=True))
        self.accepted |= found
        return found

    async def cancel(self, job_ids: Sequence[UUID]) -> Effects:
        """As the API does it."""
        done = await cancel(self.database, job_ids)
        self.follower.follow(done)
        return done

    async def fetch(self, sql: str, *args: Any) -> list[Record]:
        async with self.database.side() as connection:
            return await connection.fetch(sql, *args)

    async def count(self, sql: str, *args: Any) -> int:
        found: int = (await self.fetch(f"SELECT count(*)::int {sql}", *args))[0]["count"]
        return found

    async def running_on(self, node_id: UUID) -> int:
        return await self.count(
            "FROM windlass.job WHERE state = 'running' AND node_id = $1", node_id
        )

    async def rows(self, markers: Iterable[str]) -> dict[str, Record]:
        """The jobs by marker, finished or not."""
        names = {self.accepted[marker]: marker for marker in markers}
        rows = await self.database.read("job_get_many", list(names))
        return {names[row["id"]]: row for row in rows}

    async def states(self, markers: Iterable[str]) -> Counter[str]:
        return Counter(row["state"] for row in (await self.rows(markers)).values())

    async def until_ended(
        self, markers: Collection[str] | None = None, *, within_seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Wait until these jobs have ended, or all that were accepted."""
        wanted = [self.accepted[marker] for marker in markers or self.accepted]

        async def all_ended() -> bool:
            try:
                ended = await self.database.read("job_end_state_many", wanted)
            except Unavailable:
                return False  # the database may be what the test has just taken away
            return len(ended) == len(wanted)

        await until(all_ended, what=f"{len(wanted)} jobs end", within_seconds=within_seconds)

    async def until_started(self, markers: Iterable[str], times: int = 1) -> None:
        """Wait until the witness saw each of these start so many times."""
        wanted = list(markers)

        async def all_started() -> bool:
            starts = self.witness.by_marker("start")
            return all(len(starts.get(marker, ())) >= times for marker in wanted)

        await until(all_started, what=f"{len(wanted)} tasks start")


@asynccontextmanager
async def open_cluster(
    database_url: str, redis_url: str | None, folder: Path
) -> AsyncIterator[Cluster]:
    witness = Witness(folder / "witness")
    database = Database(database_url, application="windlass test")
    lane = FastLane(redis_url)
    await database.open()
    await lane.open()
    try:
        async with Nodes(folder, witness_path=witness.path) as nodes:
            cluster = Cluster(
                database=database,
                lane=lane,
                redis_url=redis_url,
                nodes=nodes,
                witness=witness,
            )
            try:
                yield cluster
            finally:
                await cluster.stopper.close()
    finally:
        await lane.close()
        await database.close()
