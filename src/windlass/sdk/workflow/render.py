"""Values and constants rendered as a template of JSON, and which steps its expressions refer to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from windlass.model.expression.template import compile_template
from windlass.sdk.tasks.codec import encode_unknown
from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.literal import marked, template_text
from windlass.sdk.workflow.step import Step
from windlass.sdk.workflow.value import Value


def rendered(given: Any) -> Any:
    """JSON in which every value is `${ }`. Dataclasses, dates and the like as tasks get them."""
    try:
        plain = msgspec.to_builtins(given, enc_hook=_encoded, str_keys=True)
    except (TypeError, ValueError) as trouble:
        raise CannotTrace(str(trouble)) from None
    return _with_templates(plain)


def expression(value: Value) -> str:
    return f"${{{value.cel}}}"


def references(template: Any) -> Iterator[tuple[str, bool]]:
    """The steps that its expressions name, and whether by their output."""
    for _, found in compile_template(template).expressions:
        for path in found.paths:
            if path[0] == "steps" and len(path) > 1:
                yield str(path[1]), len(path) > 2 and path[2] == "output"


def _encoded(value: Any) -> Any:
    if isinstance(value, Step):
        value = value.out
    return marked(value.cel) if isinstance(value, Value) else encode_unknown(value)


def _with_templates(plain: Any) -> Any:
    match plain:
        case str():
            return template_text(plain)
        case list():
            return [_with_templates(one) for one in plain]
        case dict():
            return {name: _with_templates(one) for name, one in plain.items()}
        case _:
            return plain
