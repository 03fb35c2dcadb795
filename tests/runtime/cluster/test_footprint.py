"""What a process says it uses, compared with what psutil sees."""

from __future__ import annotations

import time

import psutil
import pytest

from windlass.runtime.cluster.lease import Footprint


def test_memory_is_what_is_resident_now() -> None:
    seen = psutil.Process().memory_info().rss
    assert Footprint().memory_bytes() == pytest.approx(seen, rel=0.1)


def test_cpu_is_counted_from_one_look_to_the_next() -> None:
    footprint = Footprint()
    used, begun = time.process_time(), time.monotonic()
    while time.process_time() < used + 0.2:
        pass
    seen = footprint.cpu_percent()
    share = (time.process_time() - used) / (time.monotonic() - begun)
    assert seen == pytest.approx(100 * share, rel=0.2)
    time.sleep(0.4)
    assert footprint.cpu_percent() < seen
