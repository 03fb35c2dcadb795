"""Every delivery is signed, for receivers that have the official library and nothing of ours."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from aiohttp import web
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.faults.check import faults_found
from tests.faults.cluster import Cluster
from tests.faults.jobs import hook
from tests.faults.receiver import Delivery, Receiver, receiver
from tests.faults.until import until
from windlass.engine.seal import Sealer
from windlass.engine.secret_value import generate
from windlass.engine.secrets import put_secret, read_secret
from windlass.engine.target_secret import target_secrets
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
