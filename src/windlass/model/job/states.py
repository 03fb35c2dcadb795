"""The state machine of a job: its states, the one table of legal moves, and the priorities.

The database refuses any other move: see `job_moves`, `job_history_final` and the CHECKs in
store/migrations/0001_spine.sql, which a test compares with this table. A priority is a word
outside and a number inside.
"""

from __future__ import annotations

from typing import Final, Literal

State = Literal[
    "blocked", "queued", "running", "succeeded", "dead", "cancelled", "expired", "skipped"
]

UNFINISHED: Final[tuple[State, ...]] = ("blocked", "queued", "running")
TERMINAL: Final[tuple[State, ...]] = ("succeeded", "dead", "cancelled", "expired", "skipped")
STATES: Final[tuple[State, ...]] = UNFINISHED + TERMINAL

LEGAL_MOVES: Final[dict[State, frozenset[State]]] = {
    "blocked": frozenset({"queued", "cancelled", "expired", "skipped", "dead"}),
    # `dead` without a further attempt: its target wants nothing more.
    "queued": frozenset({"running", "cancelled", "expired", "dead"}),
    "running": frozenset({"queued", "succeeded", "dead", "cancelled"}),
    # Only an explicit replay brings a finished job back.
    "succeeded": frozenset({"queued"}),
    "dead": frozenset({"queued"}),
    "cancelled": frozenset({"queued"}),
    "expired": frozenset({"queued"}),
    "skipped": frozenset({"queued"}),
}

assert set(LEGAL_MOVES) == set(STATES), "every state says where it may go"
assert all(target in STATES for moves in LEGAL_MOVES.values() for target in moves)
assert all(LEGAL_MOVES[state] == {"queued"} for state in TERMINAL), (
    "terminal is final but for replay"
)


def is_terminal(state: str) -> bool:
    return state in TERMINAL


# In order: the last is the most urgent.
Priority = Literal["low", "normal", "high", "critical"]
PRIORITY_NAMES: Final[tuple[Priority, ...]] = ("low", "normal", "high", "critical")
PRIORITY_NUMBERS: Final[dict[str, int]] = {
    name: number for number, name in enumerate(PRIORITY_NAMES)
}
