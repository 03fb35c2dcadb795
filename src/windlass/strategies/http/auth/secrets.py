"""The vault: where a delivery gets the values of named secrets, and why it may not.

Strategies know secrets only by this shape; who keeps them, and how they are encrypted, is the
engine's affair. A value is never part of an error, a log line or a representation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from windlass.errors import WindlassError

CANNOT_SIGN: Final = (
    "webhooks are signed, and this node has no key for it: set WINDLASS_SECRET_KEY to 32 random "
    "bytes in base64 (openssl rand -base64 32), the same on every node, and restart; or set "
    "WINDLASS_SIGN_WEBHOOKS=off if no receiver verifies them"
)
_HOSTS_SHOWN_MAX: Final = 5


class SecretUnavailable(WindlassError):
    """A named secret cannot be had: there is none, or it cannot be opened here and now."""

    code = "secret_unavailable"
    status = 503

    def __init__(self, name: str, why: str, *, is_missing: bool, is_keyless: bool = False) -> None:
        self.name = name
        # True: this node has no key that opens secrets, so it cannot even tell what there is.
        self.is_keyless = is_keyless
        # True: there is none. Where its owner deleted the one that signs, deliveries go unsigned
        # as he wished; one that is there but cannot be opened must not become no signature.
        self.is_missing = is_missing
        super().__init__(f"secret {name!r} is not available: {why}")

    @property
    def facts(self) -> dict[str, Any]:
        return {"secret": self.name}


class SigningUnavailable(WindlassError):
    """Webhooks are signed, and this server has no key to do it with; nothing leaves unsigned."""

    code = "signing_unavailable"
    status = 409

    def __init__(self) -> None:
        super().__init__(CANNOT_SIGN)


class SecretNotForHost(WindlassError):
    """A delivery would have shown a named secret to a host that it is not for; nothing was sent."""

    code = "secret_not_for_host"
    status = 409

    def __init__(self, name: str, host: str, hosts: Sequence[str]) -> None:
        self.name, self.host = name, host
        shown = [*hosts[:_HOSTS_SHOWN_MAX], *(["…"] if len(hosts) > _HOSTS_SHOWN_MAX else [])]
        super().__init__(
            f"secret {name!r} may go to {' '.join(shown)} and not to {host}; nothing was sent; if "
            f"it may, say so with `windlass secret bind {name} {' '.join([*shown, host])}` and "
            "replay the job"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {"secret": self.name, "host": self.host}


class AuthFailed(WindlassError):
    """A delivery's credentials cannot be made: a value that does not fit, a token not given."""

    code = "auth_failed"
    status = 502


class Vault(Protocol):
    async def open(
        self, name: str, targets: Sequence[str] = (), *, is_sent: bool = False
    ) -> Sequence[str]:
        """The live values, newest first; two or more while a rotation overlaps.

        `targets` are to see what is made of it, and must all be among the hosts that it is bound
        to. `is_sent`: they see the value itself, or are let in by it; then a secret that is not
        bound yet is bound to them first, and a key to sign with is not given at all. What is only
        signed with it binds nothing: no receiver learns the key from that.
        Called for every delivery, so it answers from memory as a rule. Raises SecretUnavailable,
        SecretNotForHost, and AuthFailed for a key to sign with.
        """
        ...


class NoVault:
    """For a node that was given no key: it has no secrets at all."""

    async def open(
        self, name: str, targets: Sequence[str] = (), *, is_sent: bool = False
    ) -> Sequence[str]:
        raise SecretUnavailable(
            name,
            "this node keeps no secrets; set WINDLASS_SECRET_KEY and the secret",
            is_missing=True,
            is_keyless=True,
        )
