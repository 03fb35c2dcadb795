"""What this process uses of its machine: memory now, CPU since it was last asked."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from windlass.clock import monotonic

_STATM: Final = Path("/proc/self/statm")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class Footprint:
    _asked_at: float = field(default_factory=monotonic)
    _cpu_seconds: float = field(default_factory=time.process_time)

    def memory_bytes(self) -> int:
        """Resident now; where there is no /proc the most that it ever was."""
        try:
            return int(_STATM.read_text().split()[1]) * _PAGE_BYTES
        except OSError:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def cpu_percent(self) -> float:
        """Of one core, since the last call; more than 100 when several were busy."""
        now, cpu_seconds = monotonic(), time.process_time()
        used = cpu_seconds - self._cpu_seconds
        passed = max(now - self._asked_at, 1e-3)
        self._asked_at, self._cpu_seconds = now, cpu_seconds
        return round(100 * used / passed, 2)
