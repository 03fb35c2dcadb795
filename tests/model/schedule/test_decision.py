"""What becomes of due instants: each gets one decision, whatever was missed or still goes."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from windlass.limits import FIRE_ALL_MAX, LATE_SECONDS, MISFIRE_SECONDS
from windlass.model.schedule.decision import Decision, Misfire, Overlap, Policy, decide

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
MISFIRES: tuple[Misfire, ...] = ("fire_once", "fire_all", "skip")
OVERLAPS: tuple[Overlap, ...] = ("allow", "skip", "queue_one", "cancel_running")


def ago(*seconds: float) -> list[datetime]:
    return [NOW - timedelta(seconds=each) for each in seconds]


def states(decisions: list[Decision]) -> list[str]:
    return [decision.state for decision in decisions]


def test_an_instant_that_has_just_come_is_fired() -> None:
    [decision] = decide(ago(0.2), NOW, Policy())
    assert decision == Decision(instant=NOW - timedelta(seconds=0.2), state="fired")


def test_after_a_second_it_is_late_and_made_all_the_same() -> None:
    [decision] = decide(ago(LATE_SECONDS + 0.1), NOW, Policy(misfire="skip"))
    assert (decision.state, decision.is_made, decision.reason) == ("late", True, None)


def test_jitter_is_no_lateness() -> None:
    [decision] = decide(ago(40), NOW, Policy(misfire="skip", jitter_seconds=60))
    assert decision.state == "fired"


@pytest.mark.parametrize("misfire", MISFIRES)
def test_while_the_lead_changes_hands_nothing_is_missed(misfire: Misfire) -> None:
    decisions = decide(ago(4, 3, 2, 1, 0), NOW, Policy(misfire=misfire))
    assert states(decisions) == ["late", "late", "late", "fired", "fired"]


def test_fire_once_makes_the_newest_of_what_was_missed() -> None:
    decisions = decide(ago(180, 120, 60), NOW, Policy(misfire="fire_once"))
    assert states(decisions) == ["coalesced", "coalesced", "late"]
    assert decisions[0].reason == (
        "misfire: it was missed, and 2030-01-31T11:59:00Z makes up for it"
    )


def test_fire_once_makes_one_even_if_the_newest_is_in_time() -> None:
    decisions = decide(ago(120, 60, 0), NOW, Policy(misfire="fire_once"))
    assert states(decisions) == ["coalesced", "coalesced", "fired"]


def test_fire_all_makes_all_of_them() -> None:
    assert states(decide(ago(180, 120, 60), NOW, Policy(misfire="fire_all"))) == ["late"] * 3


def test_fire_all_ends_somewhere_and_says_what_to_do_about_the_rest() -> None:
    instants = ago(*range(FIRE_ALL_MAX + 102, 102 - 2, -1))
    decisions = decide(instants, NOW, Policy(misfire="fire_all"))
    assert states(decisions) == ["skipped"] * 2 + ["late"] * FIRE_ALL_MAX
    assert "backfill" in (decisions[0].reason or "")


def test_skip_leaves_out_what_was_missed_and_fires_what_comes_in_time() -> None:
    decisions = decide(ago(120, 60, 0), NOW, Policy(misfire="skip"))
    assert states(decisions) == ["skipped", "skipped", "fired"]


@pytest.mark.parametrize("misfire", MISFIRES)
def test_what_was_missed_before_the_catchup_is_skipped(misfire: Misfire) -> None:
    decisions = decide(ago(7200, 120), NOW, Policy(misfire=misfire, catchup_seconds=3600))
    assert decisions[0].state == "skipped"
    assert decisions[0].reason == "catchup: it was missed by more than 3600 seconds"
    assert decisions[1].state == ("skipped" if misfire == "skip" else "late")


def test_what_fell_due_while_it_was_paused_is_skipped_and_nothing_makes_up_for_it() -> None:
    policy = Policy(misfire="fire_all", pauses=((LONG_AGO, NOW - timedelta(seconds=30)),))
    decisions = decide(ago(120, 60, 0), NOW, policy)
    assert states(decisions) == ["skipped", "skipped", "fired"]
    assert decisions[0].reason == "paused: it was paused then"


def test_what_was_due_before_a_pause_or_between_two_is_not_skipped_for_it() -> None:
    pauses = tuple(zip(ago(500, 250), ago(400, 150), strict=True))
    decisions = decide(
        ago(600, 500, 450, 400, 300, 200, 0), NOW, Policy(misfire="fire_all", pauses=pauses)
    )
    assert states(decisions) == [*["late"] * 2, *["skipped"] * 2, "late", "skipped", "fired"]
    once = decide(ago(600, 450, 300), NOW, Policy(pauses=pauses))
    assert states(once) == ["coalesced", "skipped", "late"]


def test_instants_too_many_to_be_named_share_the_fate_of_the_first() -> None:
    first, *_ = decide(ago(120, 60), NOW, Policy(), older=31_000_000)
    assert (first.state, first.stands_for) == ("coalesced", 31_000_001)


def test_skip_names_what_has_not_ended() -> None:
    [decision] = decide(ago(0), NOW, Policy(overlap="skip"), unfinished=["job_1"])
    assert (decision.state, decision.reason) == ("skipped", "overlap: job_1 had not ended")


def test_queue_one_lets_one_wait_and_skips_the_next() -> None:
    policy = Policy(overlap="queue_one")
    [first] = decide(ago(0), NOW, policy)
    [second] = decide(ago(0), NOW, policy, unfinished=["job_1"])
    [third] = decide(ago(0), NOW, policy, unfinished=["job_2", "job_1"])
    assert (first.state, first.waits) == ("fired", False)
    assert (second.state, second.waits) == ("fired", True)
    assert (third.state, third.reason) == (
        "skipped",
        "overlap: job_1 had not ended, and job_2 waits for it",
    )


def test_cancel_running_makes_way_for_the_newest() -> None:
    policy = Policy(overlap="cancel_running", misfire="fire_all")
    older, newest = decide(ago(60, 0), NOW, policy, unfinished=["job_1"])
    assert (older.state, older.reason) == (
        "coalesced",
        "overlap: it made way for 2030-01-31T12:00:00Z",
    )
    assert (newest.state, newest.cancels) == ("fired", True)


def test_several_at_once_do_not_overlap_each_other() -> None:
    missed = ago(180, 120, 60)
    skip = decide(missed, NOW, Policy(misfire="fire_all", overlap="skip"))
    queue = decide(missed, NOW, Policy(misfire="fire_all", overlap="queue_one"))
    assert states(skip) == ["late", "skipped", "skipped"]
    assert states(queue) == ["late", "late", "skipped"]
    assert [decision.waits for decision in queue] == [False, True, False]
    assert skip[1].reason == "overlap: the one of 2030-01-31T11:57:00Z had not ended"


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("misfire", MISFIRES)
def test_whatever_happens_each_instant_has_one_decision_and_a_reason_if_it_made_nothing(
    misfire: Misfire, overlap: Overlap
) -> None:
    for seed in range(300):
        chance = random.Random(seed)
        instants = sorted(
            ago(*{round(chance.expovariate(1 / 90), 3) for _ in range(chance.randint(1, 30))})
        )
        policy = Policy(
            overlap=overlap,
            misfire=misfire,
            catchup_seconds=chance.choice([None, 0.0, 60.0, 3600.0]),
            jitter_seconds=chance.choice([0.0, 30.0]),
            pauses=chance.choice([(), ((LONG_AGO, ago(chance.uniform(0, 120))[0]),)]),
        )
        going = [f"job_{number}" for number in range(chance.randint(0, 3))]
        older = chance.randint(0, 5)
        decisions = decide(instants, NOW, policy, older=older, unfinished=going)

        assert [decision.instant for decision in decisions] == instants, seed
        assert sum(decision.stands_for for decision in decisions) == len(instants) + older, seed
        for decision in decisions:
            assert decision.is_made == (decision.reason is None), seed
        made = [decision for decision in decisions if decision.is_made]
        if overlap == "skip":
            assert len(made) <= (0 if going else 1), seed
        if overlap == "queue_one":
            assert len(made) <= max(0, 2 - len(going)), seed
        if overlap == "cancel_running":
            assert len(made) <= 1, seed
        oldest = NOW - timedelta(seconds=MISFIRE_SECONDS + policy.jitter_seconds)
        is_paused_then = policy.is_paused_at(instants[-1])
        if overlap == "allow" and instants[0] >= oldest and not policy.pauses:
            assert len(made) == len(instants), seed
        if overlap == "allow" and instants[-1] >= oldest and not is_paused_then:
            assert decisions[-1].is_made, seed
