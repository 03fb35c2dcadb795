"""The input of an execution: the definition's defaults filled in, checked against its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.errors import FieldProblem, InvalidInput
from windlass.model.definition import Definition
from windlass.model.json_schema import Allowance, value_problems, with_defaults


def complete_input(
    definition: Definition,
    given: Mapping[str, Any],
    at: str = "",
    allowance: Allowance | None = None,
) -> Any:
    """Raises InvalidInput with every problem found below `<at>/input`; TooMuchToCheck when that
    is more than the allowance.
    """
    filled = with_defaults(dict(given), definition.inputs)
    if definition.inputs is not None:
        problems = value_problems(filled, definition.inputs, allowance=allowance)
        if problems:
            raise InvalidInput(
                *(
                    FieldProblem(pointer=f"{at}/input{pointer}", detail=detail)
                    for pointer, detail in problems
                )
            )
    return filled
