"""A node that may call receivers on this machine, and otherwise is as everybody's.

It has a key for its secrets, as one that `windlass up` starts has, so that deliveries are signed.
"""

from __future__ import annotations

import base64

from windlass.config import Settings

_ALLOW = "127.0.0.0/8"
_KEY = base64.b64encode(b"w" * 32).decode()

SETTINGS = Settings(egress_allow=(_ALLOW,), secret_key=_KEY)
# The same for a node that is a process of its own.
ENVIRONMENT = {"WINDLASS_EGRESS_ALLOW": _ALLOW, "WINDLASS_SECRET_KEY": _KEY}
