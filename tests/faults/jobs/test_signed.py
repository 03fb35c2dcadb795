"""Every delivery is signed, for receivers that have the official library and nothing of ours."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from aiohttp import web
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.faults.check import faults_found
from tests.faults.job_objects import Job, hook
from tests.faults.jobs.receiver import Delivery, Receiver, receiver
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.engine.jobs.read import read_job
from windlass.engine.jobs.why import explain
from windlass.engine.secrets.seal import Sealer
from windlass.engine.secrets.secrets import (
    Hosts,
    bind_secret,
    put_secret,
    read_secret,
    target_secrets,
)
from windlass.engine.secrets.value import generate, read_value
from windlass.limits import SECRET_KEPT_SECONDS

KEY = bytes(range(32))
SEALER = Sealer([KEY])
# A node may sign with what it read so long ago; nobody drops a secret sooner.
OVERLAP_SECONDS = SECRET_KEPT_SECONDS + 5
LONG_SECONDS = 3600.0


def verifies(secret: str, delivery: Delivery) -> bool:
    try:
        Webhook(secret).verify(delivery.body, delivery.headers)
    except WebhookVerificationError:
        return False
    return True


@dataclass(slots=True)
class Owner:
    """Runs a receiver; knows the secrets it was handed."""

    secrets: list[str] = field(default_factory=list)
    refused: list[Delivery] = field(default_factory=list)

    async def behave(self, delivery: Delivery) -> web.Response:
        if any(verifies(secret, delivery) for secret in self.secrets):
            return web.Response()
        self.refused.append(delivery)
        return web.Response(status=400)


async def keep_coming(cluster: Cluster, receivers: list[Receiver], stop: asyncio.Event) -> None:
    """Jobs for all of them, until it is enough; the next go when the ones before have arrived."""
    for number in itertools.count():
        if stop.is_set():
            return
        await cluster.submit(
            [hook(f"{number}-{n}-{one.port}", one.url()) for n in range(5) for one in receivers]
        )

        async def have_arrived(so_many: int = 5 * (number + 1)) -> bool:
            return all(len(one.deliveries) >= so_many for one in receivers)

        await until(have_arrived, what="the jobs arrive")


async def more_arrive(receivers: list[Receiver], count: int = 30) -> None:
    wanted = [len(one.deliveries) + count for one in receivers]

    async def have_arrived() -> bool:
        return all(len(one.deliveries) >= n for one, n in zip(receivers, wanted, strict=True))

    await until(have_arrived, what=f"{count} more deliveries arrive")


def signatures(delivery: Delivery) -> int:
    return len(delivery.headers["webhook-signature"].split(" "))


async def test_a_node_without_a_key_delivers_nothing_unless_signing_is_switched_off(
    cluster: Cluster,
) -> None:
    async with receiver() as shop:
        keyless = await cluster.start_node(WINDLASS_SECRET_KEY="")
        assert "webhooks_refused" in (said := keyless.log_path.read_text())
        assert "WINDLASS_SECRET_KEY" in said
        twice = {"max_attempts": 2, "initial": "10ms"}
        await cluster.submit([hook("refused", shop.url(), retry=twice)])
        await cluster.until_ended()
        lost = await read_job(cluster.database, cluster.accepted["refused"])
        assert (lost["state"], lost["cause"]) == ("dead", "signing_unavailable")
        assert "WINDLASS_SECRET_KEY" in str(lost["error"])
        assert shop.deliveries == []
        await keyless.kill()

        switched_off = await cluster.start_node(
            WINDLASS_SECRET_KEY="", WINDLASS_SIGN_WEBHOOKS="off"
        )
        assert "webhooks_unsigned" in switched_off.log_path.read_text()
        await cluster.submit([hook("unsigned", shop.url())])
        await cluster.until_ended(["unsigned"])
        [delivery] = shop.deliveries
        assert "webhook-signature" not in delivery.headers


async def test_a_secret_goes_to_the_first_host_that_it_was_sent_to_and_no_other(
    cluster: Cluster,
) -> None:
    await cluster.start_node(WINDLASS_SECRET_KEY=KEY.hex())
    for name in ("token", "stated"):
        await put_secret(cluster.database, SEALER, name, read_value(f"canary-{name}"), 0)
    async with receiver() as shop, receiver() as stranger:

        def job(marker: str, one: Receiver, secret: str, **fields: Any) -> Job:
            auth = {"type": "bearer", "secret": secret}
            return hook(marker, one.url(), input={"url": one.url(), "auth": auth, **fields})

        async def deliver(*jobs: Job) -> None:
            await cluster.submit(list(jobs))
            await cluster.until_ended([one["correlation_id"] for one in jobs])

        await bind_secret(cluster.database, SEALER, "stated", Hosts(names=(shop.host,)))
        await deliver(job("first", shop, "token"), job("as stated", shop, "stated"))
        assert (await read_secret(cluster.database, SEALER, "token")).hosts == (shop.host,)
        await deliver(
            *(job("elsewhere", stranger, "token"), job("not as stated", stranger, "stated")),
            job("again", shop, "token"),
        )
        assert stranger.deliveries == []
        sent = [delivery.headers["authorization"] for delivery in shop.deliveries]
        assert Counter(sent) == {"Bearer canary-token": 2, "Bearer canary-stated": 1}
        for marker in ("elsewhere", "not as stated"):
            lost = await read_job(cluster.database, cluster.accepted[marker])
            assert (lost["state"], lost["cause"]) == ("dead", "secret_not_for_host")
            why = await explain(cluster.database, cluster.accepted[marker])
            told = {gate.gate: gate.reason for gate in why.gates}
            assert f"and not to {stranger.host}" in told["error"]
            assert "canary" not in repr(lost) + repr(why)

        # Mended by what the error said, and replayed.
        await bind_secret(
            cluster.database, SEALER, "token", Hosts(names=(shop.host, stranger.host))
        )
        cluster.announcer.secrets(["token"])
        await deliver(job("mended", stranger, "token"))
        assert [one.headers["authorization"] for one in stranger.deliveries] == [
            "Bearer canary-token"
        ]


async def test_receivers_verify_every_delivery_before_during_and_after_a_rotation(
    cluster: Cluster,
) -> None:
    for _ in range(2):
        await cluster.start_node(WINDLASS_SECRET_KEY=KEY.hex())
    shopkeeper, banker = Owner(), Owner()
    async with receiver(shopkeeper.behave) as shop, receiver(banker.behave) as bank:
        both, owners = [shop, bank], [shopkeeper, banker]

        async def secrets_of(one: Receiver) -> list[str]:
            return await target_secrets(cluster.database, SEALER, "webhook", one.host)

        async def is_over() -> bool:
            return (await read_secret(cluster.database, SEALER, "webhook")).versions == 1

        async def are_signed_times(times: int) -> bool:
            last = [delivery for one in both for delivery in one.deliveries[-30:]]
            return {signatures(delivery) for delivery in last} == {times}

        for owner, one in zip(owners, both, strict=True):
            owner.secrets = await secrets_of(one)
        [old], [old_of_bank] = shopkeeper.secrets, banker.secrets
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(keep_coming(cluster, both, stop))
            await more_arrive(both)

            rotated = await put_secret(
                cluster.database, SEALER, "webhook", generate("derived"), LONG_SECONDS
            )
            cluster.announcer.secrets(["webhook"])
            await until(lambda: are_signed_times(2), what="deliveries carry both signatures")

            for owner, one in zip(owners, both, strict=True):
                owner.secrets = await secrets_of(one)
                assert len(owner.secrets) == 2
            await more_arrive(both)

            # Only now, however long all that took, are both owners ready for its end.
            assert rotated.rotated_at is not None
            await cluster.fetch(
                "UPDATE windlass.secret SET overlap_until = $1 WHERE overlap_until IS NOT NULL",
                rotated.rotated_at + timedelta(seconds=OVERLAP_SECONDS),
            )
            await until(is_over, what="the overlap is over")
            for owner in owners:
                owner.secrets = owner.secrets[:1]
            await until(lambda: are_signed_times(1), what="deliveries carry the new one alone")
            last = shop.deliveries[-1]
            await more_arrive(both)
            stop.set()
        await cluster.until_ended()
        assert [owner.refused for owner in owners] == [[], []]
        [new] = await secrets_of(shop)
        assert shopkeeper.secrets == [new]
        assert verifies(old, shop.deliveries[0])
        assert not verifies(new, shop.deliveries[0])
        assert verifies(new, last)
        assert not verifies(old, last)
        for foreign in (old_of_bank, *banker.secrets):
            assert not any(verifies(foreign, delivery) for delivery in shop.deliveries)
    assert await cluster.states(cluster.accepted) == Counter(succeeded=len(cluster.accepted))
    assert {delivery.attempt for one in both for delivery in one.deliveries} == {1}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
