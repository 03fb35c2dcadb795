"""Which queues a node serves, and in which order."""

from __future__ import annotations

from collections import Counter

import pytest

from windlass.model.cluster.served import ALL_QUEUES, read_served_queues


def test_a_node_that_was_told_nothing_serves_all() -> None:
    assert ALL_QUEUES.include("anything")
    assert (ALL_QUEUES.asked, str(ALL_QUEUES)) == (None, "all")


def test_named_queues_are_served_alone_and_excluded_ones_never() -> None:
    named = read_served_queues(["mail", "reports"])
    assert [named.include(name) for name in ("mail", "reports", "other")] == [True, True, False]
    rest = read_served_queues(excluded=["slow"])
    assert [rest.include(name) for name in ("mail", "slow")] == [True, False]
    assert [str(named), str(rest)] == ["mail, reports", "all but slow"]


def test_each_is_the_first_as_often_as_its_weight_says() -> None:
    queues = read_served_queues(["mail=3", "reports", "sms=2"])
    orders = [queues.in_order(["reports", "sms", "mail"], turn) for turn in range(60)]
    assert Counter(order[0] for order in orders) == {"mail": 30, "reports": 10, "sms": 20}
    assert all(sorted(order) == ["mail", "reports", "sms"] for order in orders)


def test_without_weights_they_take_turns_at_every_place() -> None:
    orders = [tuple(ALL_QUEUES.in_order(["a", "b", "c"], turn)) for turn in range(6)]
    assert Counter(orders) == {("a", "b", "c"): 2, ("b", "c", "a"): 2, ("c", "a", "b"): 2}
    assert ALL_QUEUES.in_order([], 5) == []


def test_strict_is_as_given_whatever_the_turn() -> None:
    queues = read_served_queues(["urgent", "mail", "bulk"], order="strict")
    for turn in range(5):
        assert queues.in_order(["bulk", "urgent", "mail"], turn) == ["urgent", "mail", "bulk"]
        assert queues.in_order(["bulk", "mail"], turn) == ["mail", "bulk"]
    assert str(queues) == "urgent, mail, bulk (strict)"


@pytest.mark.parametrize("text", ["mail=0", "mail=1001"])
def test_a_weight_is_bounded(text: str) -> None:
    with pytest.raises(ValueError, match="from 1 to 1000"):
        read_served_queues([text])
