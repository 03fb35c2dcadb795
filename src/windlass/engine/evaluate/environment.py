"""The environment variables that subprocesses beside the node get: a plain few, and no secret.

They read hostile text and need no secret: neither the key nor the database's address, nor what else
an operator keeps there. So they get what Python and the C library want to know, and nothing else.
Processes that run tasks (strategies.python.processes) and nodes that `windlass up` begins are
another matter: those are the user's program, and have what the node has.
"""

from __future__ import annotations

import os
import re
from typing import Final

_PLAIN: Final = re.compile(
    r"PATH|HOME|TMPDIR|TZ|TZDIR|LANG|LANGUAGE|LC_[A-Z]+|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|"
    r"PYTHON[A-Z0-9]+"  # Python's own; PYTHON_… may be anybody's
)


def plain_environment() -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if _PLAIN.fullmatch(name)}
    # What such a process lets go goes back to the system (mallopt(3)).
    return {**plain, "MALLOC_MMAP_THRESHOLD_": "65536"}
