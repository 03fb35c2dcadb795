"""Chance of our own.

The generator of the module `random` belongs to whoever we run beside: a program that has seeded it,
or a test that watches whether anybody else draws from it.
"""

from __future__ import annotations

import os
import random
from typing import Final

_own: Final = random.Random()
chance: Final = _own.random  # a number in [0, 1)
random_bits: Final = _own.getrandbits

# Two processes that were one must not go on alike.
os.register_at_fork(after_in_child=_own.seed)
