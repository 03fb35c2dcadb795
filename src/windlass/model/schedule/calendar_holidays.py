"""Public holidays of countries and their parts, by way of the package `holidays`.

It is imported when somebody first names a country: it takes a moment, and most rules name none.
"""

from __future__ import annotations

import re
import warnings
from datetime import date
from functools import cache, lru_cache
from typing import Final

COUNTRY_PATTERN: Final = "([A-Z]{2})(-([A-Za-z0-9]{1,20}))?"
_SHAPE: Final = re.compile(COUNTRY_PATTERN)


def read_country(value: object) -> str:
    """`DE` or `DE-BY`. Raises ValueError that says what is allowed."""
    found = _SHAPE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError('must be a country as in ISO 3166, with or without a part: "DE", "DE-BY"')
    country, part = found[1], found[3]
    parts = _countries().get(country)
    if parts is None:
        raise ValueError(f"the holidays of {country} are not known; list its days in dates")
    if part is not None and part not in parts:
        known = " ".join(sorted(parts)) or "none"
        raise ValueError(f"{country} has no part {part} with holidays of its own; it has {known}")
    return found[0]


@lru_cache(maxsize=4_096)
def holidays_of(place: str, year: int) -> frozenset[date]:
    import holidays

    country, _, part = place.partition("-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so when it knows nothing of a year that far away
        return frozenset(holidays.country_holidays(country, subdiv=part or None, years=year))


@cache
def _countries() -> dict[str, frozenset[str]]:
    import holidays

    found = holidays.list_supported_countries()
    return {country: frozenset(parts) for country, parts in found.items()}
