"""What a process says it uses, compared with what psutil sees."""

from __future__ import annotations

import time

import psutil
import pytest

from windlass.runtime.footprint import Footprint


def test_memory_is_what_is_resident_now() -> None:
    seen = psutil.Process().memory_info().rss
    assert Footprint().memory_bytes() == pytest.approx(seen, rel=0.1)


def test_cpu_is_counted_from_one_look_to_the_next() -> None:
    footprint = Footprint()
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    assert footprint.cpu_percent() > 20
    time.sleep(0.2)
    assert footprint.cpu_percent() < 20
