"""How property tests run: no deadline, and a failure prints how to repeat it."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The first draw of text on a fresh checkout builds Unicode tables for seconds; that is not a fault.
settings.register_profile(
    "windlass", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("windlass")
