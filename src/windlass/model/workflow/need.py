"""Reading what a step waits for: whom, which end, and how many of them."""

from __future__ import annotations

from typing import Any

from windlass.limits import STEPS_MAX
from windlass.model.json.whole import read_whole
from windlass.model.workflow import fields
from windlass.model.workflow.collector import Reading
from windlass.model.workflow.definition import WHENS, Need


def read_needs(value: Any, at: str, desk: Reading) -> tuple[Need, ...]:
    """Those that can be read."""
    if not isinstance(value, list):
        desk.say(at, "must be a list of the ids of steps")
        return ()
    needs: dict[str, Need] = {}
    for place, given in enumerate(value):
        need = desk.take(f"{at}/{place}", _read_need, given)
        if need is None:
            continue
        if need.step in needs:
            desk.say(f"{at}/{place}", f"{need.step} is needed twice; name it once")
        needs[need.step] = need
    return tuple(needs.values())


def _read_need(given: Any) -> Need:
    if isinstance(given, str):
        return Need(step=fields.read_step_id(given))
    if not isinstance(given, dict) or "step" not in given:
        raise ValueError('must be the id of a step, or {"step": "id", "when": "failed"}')
    for name in given:
        if name not in ("step", "when"):
            raise ValueError(f"{name[:40]!r}: {fields.unknown(name, ('step', 'when'))}")
    when = given.get("when", "succeeded")
    if when not in WHENS:
        raise ValueError(f"when must be one of: {' '.join(WHENS)}")
    return Need(step=fields.read_step_id(given["step"]), when=when)


def read_join(value: Any) -> int:
    """`all` is told apart before."""
    if value == "any":
        return 1
    try:
        return read_whole(value, STEPS_MAX)
    except ValueError:
        raise ValueError("must be all, any, or how many of the needs must be met") from None
