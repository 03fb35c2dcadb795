"""What is asked over and over while requests are generated and sent is answered once a process.

- What Hypothesis makes of a pattern. A definition of a workflow names the pattern of a duration
  dozens of times, and is taken apart hundreds of times while its boundaries are looked for; each
  time the tree of strategies behind every pattern was built anew, which took half of the time of
  generation. A strategy keeps nothing between two draws.
- Which attributes a protocol has, by which `requests` tells a mapping from a list: as Python 3.12
  does it by itself.
- Whether the environment has a proxy for a URL: it does not change while tests run.

All three are pure, and nobody changes what they answer: a seed makes the same requests as before.
"""

from __future__ import annotations

import functools
import typing
from typing import Any, Final

import requests.sessions
from hypothesis.strategies._internal import regex

# By the module that asks. Private names, of versions that are pinned: what is no longer there is
# left alone, and costs time alone.
ASKED: Final[tuple[tuple[Any, str], ...]] = (
    (regex, "regex_strategy"),
    (typing, "_get_protocol_attrs"),
    (requests.sessions, "get_environ_proxies"),
)
ANSWERS_MAX: Final = 4_096


def memoize() -> None:
    """Once is enough, and twice does no harm."""
    for module, name in ASKED:
        function = getattr(module, name, None)
        if function is not None and not hasattr(function, "cache_info"):
            setattr(module, name, functools.lru_cache(ANSWERS_MAX)(function))
