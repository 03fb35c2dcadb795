"""What the checks of a definition must know about this installation: its kinds and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from windlass.model.job.submission import InputCheck

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskShape:
    """What a task takes, as far as its signature says."""

    names: tuple[str, ...]  # parameters that may be given by position, in order
    schema: Schema  # JSON Schema of all its parameters as an object
    has_rest: bool = False  # it takes any number of further values by position


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKinds:
    # Kinds that nodes perform, each with what it says about an input; the engine's own kinds
    # (signal, map, switch, …) are not among them.
    checks: Mapping[str, InputCheck]
    schemas: Mapping[str, Schema] = field(default_factory=dict)  # of inputs, where a kind has one
    # Tasks that this node has. Another may have others, so one that is missing here is no mistake.
    tasks: Mapping[str, TaskShape] = field(default_factory=dict)
