"""How many jobs are in each state."""

from __future__ import annotations

from typing import Final

from windlass.api.http.shapes import COUNT, Named, record
from windlass.model.job.states import STATES

SCHEMAS: Final[Named] = {"Counts": record(**dict.fromkeys(STATES, COUNT))}
