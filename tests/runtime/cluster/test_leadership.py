"""Candidates in one process, on a real PostgreSQL: at no instant do two of them lead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from tests.until import until
from windlass.runtime.cluster.leader_duties import LeaderDuties, LeaderDuty
from windlass.runtime.cluster.leadership import Leadership
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

LEASE_SECONDS = 5.0
SHORT_SECONDS = 1.0
CUTS = 8
WATCH_SECONDS = 0.0005
SEAT = 6289644409843958084  # windlass.leader_wait()
# How often the machine may pause for so long that a leader rightly steps down.
PAUSES_MAX = 5


@asynccontextmanager
async def candidates(
    url: str, count: int, *, has_seat: bool = True, lease_seconds: float = LEASE_SECONDS
) -> AsyncIterator[list[Leadership]]:
    standing = [
        Leadership(url, uuid4(), lease_seconds=lease_seconds, has_seat=has_seat)
        for _ in range(count)
    ]
    for one in standing:
        one.start()
    try:
        yield standing
    finally:
        for one in standing:
            await asyncio.to_thread(one.stop)


async def leader_of(standing: list[Leadership], but: Leadership | None = None) -> Leadership:
    found: list[Leadership] = []

    async def is_led() -> bool:
        found[:] = [one for one in standing if one.is_leader and one is not but]
        return bool(found)

    await until(is_led, what="one of them leads", within_seconds=30)
    return found[0]


async def end_session_of_leader(database: Database) -> None:
    async with database.side() as connection:
        await connection.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_locks "
            "WHERE locktype = 'advisory' AND granted AND database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())"
        )


async def test_never_do_two_lead_while_sessions_are_cut(
    database: Database, database_url: str
) -> None:
    most = 0

    async def watch(standing: list[Leadership]) -> None:
        nonlocal most
        while True:
            most = max(most, sum(one.is_leader for one in standing))
            await asyncio.sleep(WATCH_SECONDS)

    async with candidates(database_url, 4) as standing:
        watching = asyncio.create_task(watch(standing))
        for _ in range(CUTS):
            before = await leader_of(standing)
            await end_session_of_leader(database)
            await leader_of(standing, but=before)
        watching.cancel()
    assert most == 1
    rows = await database.read("leader_read")
    assert rows[0]["term"] > CUTS


async def test_whoever_stops_hands_over_and_the_row_says_nobody_when_all_have(
    database: Database, database_url: str
) -> None:
    async with candidates(database_url, 2) as standing:
        first = await leader_of(standing)
        await asyncio.to_thread(first.stop)
        assert not first.is_leader
        second = await leader_of(standing)
        assert (first.term, second.term) == (None, 2)

    async def has_nobody() -> bool:
        return (await database.read("leader_read"))[0]["node_id"] is None

    # Its last word has a second; if that was too short, its lease passes.
    await until(has_nobody, what="nobody leads")
    assert (await database.read("leader_read"))[0]["term"] == 2


async def test_a_waiting_candidate_does_not_hold_vacuum_back_for_long(
    database: Database, database_url: str
) -> None:
    async with candidates(database_url, 2, lease_seconds=SHORT_SECONDS) as standing:
        await leader_of(standing)

        async def starts() -> set[str]:
            async with database.side() as connection:
                rows = await connection.fetch(
                    "SELECT query_start::text FROM pg_stat_activity "
                    "WHERE wait_event = 'advisory' AND datname = current_database()"
                )
            return {row["query_start"] for row in rows}

        seen: set[str] = set()

        async def waits_anew() -> bool:
            seen.update(await starts())
            return len(seen) >= 3

        await until(waits_anew, what="a wait ends and begins again", within_seconds=30)


async def test_a_renewal_does_not_wait_for_the_row_and_nobody_is_evicted_meanwhile(
    database: Database,
) -> None:
    node_id = uuid4()
    [taken] = await database.run("leader_take", node_id, 0.05, True)
    async with database.side() as seated, database.side() as candidate:
        await seated.execute(f"SELECT pg_advisory_lock({SEAT})")
        async with database.side(readonly=False) as user:
            await user.execute("SELECT FROM windlass.leader FOR UPDATE")
            await until(lambda: has_lapsed(database), what="the lease lapses")
            [held] = await database.run("leader_renew", node_id, taken["term"], 5.0)
            assert (held["term"], held["is_held"]) == (taken["term"], True)
            assert await database.run("leader_renew", uuid4(), taken["term"], 5.0) == []
            assert await candidate.fetchval("SELECT windlass.leader_wait()") == "led"
        assert await database.run("leader_renew", node_id, taken["term"], 5.0) == [], "lapsed"
        assert await candidate.fetchval("SELECT windlass.leader_wait()") == "evicted"


async def test_a_leader_goes_on_while_a_transaction_holds_the_row_of_its_lease(
    database: Database, database_url: str
) -> None:
    """Its lease lapses, and nobody could begin another term: whoever waits leaves it alone."""
    async with candidates(database_url, 2, lease_seconds=LEASE_SECONDS) as standing:
        for _ in range(PAUSES_MAX):
            await leader_of(standing)
            async with database.side(readonly=False) as user:
                await user.execute("SELECT FROM windlass.leader FOR UPDATE")
                await until(lambda: has_lapsed(database), what="the lease lapses")
                await asyncio.sleep(LEASE_SECONDS / 2)  # longer than what it trusts of before
                if any(one.is_leader for one in standing):
                    return
        raise AssertionError("nobody led while the row was held")


async def has_lapsed(database: Database) -> bool:
    return (await database.read("leader_read"))[0]["node_id"] is None


async def test_without_sessions_the_lease_alone_decides(
    database: Database, database_url: str
) -> None:
    async with candidates(database_url, 3, has_seat=False) as standing:
        first = await leader_of(standing)
        async with database.side() as connection:
            seats = await connection.fetchval(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        assert seats == 0
        await asyncio.to_thread(first.stop)
        second = await leader_of(standing)
        assert second.term == 2


async def test_a_duty_is_done_by_the_leader_and_not_after_its_term(
    database: Database, database_url: str
) -> None:
    done: list[int] = []

    async def act() -> None:
        done.append(len(done))

    # Trusted for long: only the database knows that the term is over.
    leadership = Leadership(database_url, uuid4(), lease_seconds=60)
    metrics = Metrics()
    duties = LeaderDuties(
        database=database,
        leadership=leadership,
        metrics=metrics,
        table=[LeaderDuty(name="act", every_seconds=0.01, do=act)],
    )
    duties.start()
    try:

        async def has_acted() -> bool:
            return len(done) > 2

        await until(has_acted, what="the duty is done", within_seconds=30)
        assert metrics.registry.get_sample_value("windlass_leader_elections_total") == 1
        async with database.side() as connection:
            await connection.execute(
                "UPDATE windlass.leader SET term = term + 1, node_id = gen_random_uuid()"
            )
        # One may have been on its way; after it there is none for many times its interval.
        await asyncio.sleep(1.5)
        count = len(done)
        await asyncio.sleep(0.3)
        assert leadership.is_leader
        assert len(done) == count
    finally:
        await duties.stop()


async def test_whoever_has_stopped_has_closed_what_a_duty_had_opened(
    database: Database, database_url: str
) -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    async def sweep() -> None:
        opened.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.3)  # to say goodbye to a server
            closed.set()

    duties = LeaderDuties(
        database=database,
        leadership=Leadership(database_url, uuid4(), lease_seconds=LEASE_SECONDS),
        metrics=Metrics(),
        table=[LeaderDuty(name="sweep", every_seconds=60, do=sweep)],
    )
    duties.start()
    try:
        await until(opened.is_set, what="the duty is begun", within_seconds=30)
    finally:
        await duties.stop()
    assert closed.is_set()


async def test_the_numbers_say_who_leads_and_in_which_term(
    database: Database, database_url: str
) -> None:
    first, second = Metrics(), Metrics()
    standing = [
        LeaderDuties(
            database=database,
            leadership=Leadership(database_url, uuid4(), lease_seconds=LEASE_SECONDS),
            metrics=metrics,
            table=[],
        )
        for metrics in (first, second)
    ]
    try:
        standing[0].start()
        await until(lambda: says(first, 1, term=1), what="the first leads", within_seconds=30)
        standing[1].start()
        assert await says(second, 0, term=0)
        await standing[0].stop()
        await until(lambda: says(second, 1, term=2), what="the second leads", within_seconds=30)
        assert await says(first, 0, term=0)
        # What it hears with its heartbeat it knows as well.
        first.leader_seen(2, is_led=True)
        assert await says(first, 0, term=2)
        assert first.registry.get_sample_value("windlass_leader_seen") == 1
    finally:
        for one in standing:
            await one.stop()


async def says(metrics: Metrics, leads: int, *, term: int) -> bool:
    found = [
        metrics.registry.get_sample_value(name)
        for name in ("windlass_leader", "windlass_leader_term")
    ]
    return found == [leads, term]
