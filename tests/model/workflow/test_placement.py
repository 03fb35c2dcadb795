"""Who has which shard: properties that hold for any nodes."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from windlass import ids
from windlass.model.workflow.refresh import SHARDS, owner_of, shard_of, shards_of

NODES = st.lists(st.uuids(), min_size=1, max_size=12, unique=True)


def owners(nodes: list[UUID]) -> list[UUID | None]:
    return [owner_of(shard, nodes) for shard in range(SHARDS)]


@given(NODES)
def test_every_shard_has_one_owner_whoever_asks_and_in_whatever_order(nodes: list[UUID]) -> None:
    assert owners(nodes) == owners(nodes[::-1])
    parts = [shards_of(node, nodes) for node in nodes]
    assert sorted(shard for part in parts for shard in part) == list(range(SHARDS))


@given(NODES, st.uuids())
def test_a_node_that_comes_takes_only_for_itself(nodes: list[UUID], new: UUID) -> None:
    before, after = owners(nodes), owners([*nodes, new])
    assert {now for was, now in zip(before, after, strict=True) if was != now} <= {new}


@given(NODES, st.data())
def test_a_node_that_goes_leaves_only_its_own(nodes: list[UUID], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(nodes))
    before, after = owners(nodes), owners([node for node in nodes if node != gone])
    assert {was for was, now in zip(before, after, strict=True) if was != now} <= {gone}


def test_a_node_that_comes_takes_about_its_part() -> None:
    moved = 0
    for trial in range(200):
        nodes = [UUID(int=trial << 16 | n) for n in range(4)]
        moved += len(shards_of(nodes[0], nodes))
    assert 0.9 < moved / (200 * SHARDS / 4) < 1.1


def test_nobody_lives() -> None:
    assert owner_of(3, []) is None


def test_executions_are_spread_evenly() -> None:
    counts = Counter(shard_of(one) for one in ids.uuid7_many(64_000))
    assert set(counts) == set(range(SHARDS))
    assert max(counts.values()) < 1.3 * min(counts.values())
