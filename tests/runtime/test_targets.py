"""What a node makes of deliveries that fail."""

from __future__ import annotations

from tests.model.attempts import attempt
from windlass.engine.announce import Announcer
from windlass.engine.targets import TargetLimits, put_target, read_target_row
from windlass.fastlane.failures import Failures
from windlass.fastlane.lane import FastLane
from windlass.fastlane.limits import Limits
from windlass.model.outcome import Failed
from windlass.runtime.targets import Targets
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

HOST = "shop.example:443"


async def test_a_breaker_that_was_set_just_before_the_failures_opens(database: Database) -> None:
    """Nobody has told the node of it yet."""
    lane = FastLane(None)
    targets = Targets(
        database=database,
        announcer=Announcer(lane),
        limits=Limits(lane),
        failures=Failures(lane),
        metrics=Metrics(),
        slots=4,
    )
    await targets.look()
    await put_target(database, HOST, TargetLimits(failures=2))
    for _ in range(2):
        targets.ended(attempt(kind="http", target=HOST), Failed("status", "it answered 500"))
    await targets.look()
    assert (await read_target_row(database, HOST)).breaker.state == "open"
