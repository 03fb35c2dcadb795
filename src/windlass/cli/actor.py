"""Who works beside the database, for the audit log: the user of this machine who typed it."""

from __future__ import annotations

import getpass
import socket

from windlass.model.identity.actor import Actor


def at_the_terminal() -> Actor:
    """What the system says; nobody has proved who he is, but he had the database's address."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user id without a name
        user = "somebody"
    return Actor(kind="cli", name=f"{user}@{socket.gethostname()}")
