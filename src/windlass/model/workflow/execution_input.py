"""The input of an execution: the definition's defaults filled in, checked against its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.errors import FieldProblem, InvalidInput
from windlass.model.json.schema import Allowance, Found, value_problems, with_defaults
from windlass.model.workflow.definition import Definition


def complete_input(
    definition: Definition,
    given: Mapping[str, Any],
    at: str = "",
    allowance: Allowance | None = None,
) -> Any:
    """Raises InvalidInput with every problem found below `<at>/input`; TooMuchToCheck when that
    is more than the allowance.
    """
    filled = filled_input(definition, given)
    if definition.inputs is not None:
        refuse(value_problems(filled, definition.inputs, allowance=allowance), at)
    return filled


def filled_input(definition: Definition, given: Mapping[str, Any]) -> Any:
    """With its defaults, and unchecked."""
    return with_defaults(dict(given), definition.inputs)


def refuse(problems: Found, at: str = "") -> None:
    """Raises InvalidInput if there are any."""
    if problems:
        raise InvalidInput(
            *(
                FieldProblem(pointer=f"{at}/input{pointer}", detail=detail)
                for pointer, detail in problems
            )
        )
