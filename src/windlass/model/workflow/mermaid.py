"""A definition as a Mermaid flowchart: to paste into a document."""

from __future__ import annotations

from typing import Final

from windlass.model.workflow.definition import DEFAULT_CASE, Definition, Need, Step
from windlass.model.workflow.step_kinds import KINDS

_LABEL_CHARS_MAX: Final = 60


def to_mermaid(definition: Definition) -> str:
    lines = ["flowchart TD"]
    lines += [f"    {_vertex(step)}" for step in definition.steps]
    steps = {step.id: step for step in definition.steps}
    for step in definition.steps:
        lines += [f"    {_edge(steps[need.step], need, step)}" for need in step.needs]
    return "\n".join(lines) + "\n"


def _vertex(step: Step) -> str:
    opening, closing = KINDS[step.kind].shape
    kind = f"{step.kind} of {step.each.kind}" if step.each is not None else step.kind
    text = _text(step.title or step.id)
    if step.join is not None:
        kind += f", {step.join} of {len(step.needs)} needed"
    if step.condition is not None:
        kind += f", if {step.condition}"
    return f'{_name(step.id)}{opening}"{text}<br/>{_text(kind)}"{closing}'


def _edge(other: Step, need: Need, step: Step) -> str:
    label: str = "" if need.when == "succeeded" else need.when
    if need.cases:
        label = " or ".join(_case(other, case) for case in need.cases)
    arrow = f'-- "{_text(label)}" -->' if label else "-->"
    return f"{_name(other.id)} {arrow} {_name(step.id)}"


def _case(switch: Step, case: int) -> str:
    return "otherwise" if case == DEFAULT_CASE else switch.cases[case].condition


def _name(step_id: str) -> str:
    # Words such as `end` have a meaning of their own there.
    return f"s_{step_id}"


def _text(text: str) -> str:
    """Text between quotes, in which entities are the only thing with a meaning."""
    shown = text if len(text) <= _LABEL_CHARS_MAX else text[: _LABEL_CHARS_MAX - 1] + "…"
    for character, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        shown = shown.replace(character, entity)
    return shown
