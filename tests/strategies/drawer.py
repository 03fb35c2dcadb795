"""A vault as a test needs it: an open drawer."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from windlass.strategies.http.auth.secrets import SecretUnavailable


class Drawer:
    """Live values by name, newest first. A name in `jammed` is there but cannot be opened."""

    def __init__(self, **values: str | list[str]) -> None:
        self.values = {
            name: [found] if isinstance(found, str) else found for name, found in values.items()
        }
        self.jammed: set[str] = set()
        self.told: list[tuple[str, str, bool]] = []  # secret, target, whether it is sent itself

    async def open(
        self, name: str, targets: Sequence[str] = (), *, is_sent: bool = False
    ) -> Sequence[str]:
        self.told += [(name, target, is_sent) for target in targets]
        if name in self.jammed:
            raise SecretUnavailable(name, "no key opens it", is_missing=False)
        if name not in self.values:
            raise SecretUnavailable(name, "there is none", is_missing=True)
        return self.values[name]


def shared_key(fill: int = 1, length: int = 32) -> str:
    return "whsec_" + base64.b64encode(bytes([fill]) * length).decode()


def master_key(fill: int = 1, length: int = 32) -> str:
    return "whmk_" + base64.b64encode(bytes([fill]) * length).decode()


def private_key(fill: int = 1, length: int = 32) -> str:
    return "whsk_" + base64.b64encode(bytes([fill]) * length).decode()
