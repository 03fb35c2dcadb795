"""What a durable function is told when it is used as it cannot be."""

from __future__ import annotations

from windlass.errors import WindlassError


class DurableMisuse(WindlassError):
    """A call that a durable function cannot make where it stands."""

    code = "durable_misuse"

    @classmethod
    def nested(cls, asked: str) -> DurableMisuse:
        return cls(
            f"{asked} inside a step: a step is done as a whole or not at all; call it from the "
            "durable function itself"
        )

    @classmethod
    def without_execution(cls, name: str) -> DurableMisuse:
        return cls(
            f"wait_for({name!r}) in a job that is no execution's: nobody could signal it; start "
            "the durable function with .start() instead of enqueuing it"
        )

    @classmethod
    def outside(cls, name: str) -> DurableMisuse:
        return cls(
            f"wait_for({name!r}) outside a durable function that a node runs: nobody could signal "
            "it; start the function with .start()"
        )

    @classmethod
    def transaction(cls) -> DurableMisuse:
        return cls(
            "current().db in a durable function: its steps are committed one by one, and the job's "
            "transaction only at the end; do the work in a task of its own, or with a connection "
            "of yours and a key that makes it harmless twice"
        )
