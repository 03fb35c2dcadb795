"""Optional dependencies: what only a server needs is not installed with a client.

`pip install windlass` is enough to call a server; `pip install 'windlass[server]'` to be one.

Owns: the names of the modules that come with the extra `server`, and the sentence that is said
where one of them is missing.
Never: imports any of them, or hides the absence of anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from windlass.errors import WindlassError

# What we import of the extra `server` in pyproject.toml; tests/house/test_extras.py compares them.
SERVER_MODULES: Final = frozenset(
    {
        *("aiohappyeyeballs", "argon2", "asyncpg", "cryptography", "holidays", "idna"),
        *("joserfc", "prometheus_client", "pydantic_core", "redis", "starlette", "structlog"),
        *("uvicorn", "uvloop"),
    }
)


class ServerNotInstalled(WindlassError):
    """Something needs a library that comes with a server, and only a client is installed."""

    code = "server_not_installed"

    def __init__(self, what: str, module: str) -> None:
        self.what, self.module = what, module
        super().__init__(
            f"{what} needs the server's parts, which are not installed; "
            "pip install 'windlass[server]'"
        )


def require_server() -> None:
    """Raises ModuleNotFoundError for what is missing, before anything is begun or said."""
    for module in sorted(SERVER_MODULES):
        if find_spec(module) is None:
            raise ModuleNotFoundError(name=module)


@contextmanager
def server_parts(what: str) -> Iterator[None]:
    """Say so where an import in here finds that `what` cannot be had from a client alone."""
    try:
        yield
    except ModuleNotFoundError as missing:
        module = (missing.name or "").partition(".")[0]
        if module not in SERVER_MODULES:
            raise
        raise ServerNotInstalled(what, module) from None
