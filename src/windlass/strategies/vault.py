"""Where a delivery gets the values of named secrets.

Strategies know secrets only by this shape; who keeps them, and how they are encrypted, is the
engine's affair. A value is never part of an error, a log line or a representation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from windlass.errors import WindlassError


class SecretUnavailable(WindlassError):
    """A named secret cannot be had: there is none, or it cannot be opened here and now."""

    code = "secret_unavailable"
    status = 503

    def __init__(self, name: str, why: str, *, is_missing: bool) -> None:
        self.name = name
        # True: nobody ever set it. What is signed only if a secret exists goes unsigned then, and
        # only then: a secret that is there but cannot be opened must not become no signature.
        self.is_missing = is_missing
        super().__init__(f"secret {name!r} is not available: {why}")

    @property
    def facts(self) -> dict[str, Any]:
        return {"secret": self.name}


class AuthFailed(WindlassError):
    """A delivery's credentials cannot be made: a value that does not fit, a token not given."""

    code = "auth_failed"
    status = 502


class Vault(Protocol):
    async def open(self, name: str) -> Sequence[str]:
        """The live values, newest first; two or more while a rotation overlaps.

        Called for every delivery, so it answers from memory as a rule. Raises SecretUnavailable.
        """
        ...


class NoVault:
    """For a node that was given no key: it has no secrets at all."""

    async def open(self, name: str) -> Sequence[str]:
        raise SecretUnavailable(
            name, "this node keeps no secrets; set SECRET_KEY and the secret", is_missing=True
        )
