"""Arguments and results as Celery's JSON serializer carries them.

What kombu's JSON has a word for (datetime, date, Decimal, UUID, bytes) comes back as what it was; a
tuple comes back as a list. Pickle is neither written nor read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from kombu.utils import json as kombu_json

_dumps: Final[Callable[[Any], str]] = kombu_json.dumps
_loads: Final[Callable[[str], Any]] = kombu_json.loads
_PICKLES: Final = frozenset({"pickle", "application/x-python-serialize"})


def to_json(what: str, value: Any) -> Any:
    """As a job holds it. Raises ValueError that names `what`."""
    try:
        return json.loads(_dumps(value))
    except (TypeError, ValueError) as trouble:
        raise ValueError(
            f"{what} cannot be written as JSON ({trouble}); Windlass takes no pickle: give ids, "
            "texts, numbers, lists and dictionaries"
        ) from None


def from_json(value: Any) -> Any:
    """What `to_json` was given."""
    # Most values hold nothing that was marked.
    return _loads(json.dumps(value)) if isinstance(value, list | dict) else value


def call_to_json(
    name: str, args: list[Any], kwargs: Mapping[str, Any], serializer: str | None
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of one call. Raises ValueError for what would arrive as something else."""
    given = [list(args), dict(kwargs)]
    written = to_json(f"the arguments of {name}", given)
    if serializer in _PICKLES and from_json(written) != given:
        raise ValueError(
            f"the arguments of {name} would not arrive as pickle brings them (a tuple becomes a "
            "list, a set cannot be sent); give lists, and use the serializer json"
        )
    return written[0], written[1]
