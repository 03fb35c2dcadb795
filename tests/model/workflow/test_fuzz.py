"""Whatever is sent as a definition gets an answer: it is read, or told what is wrong with it."""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.house.repository import ROOT
from tests.model.workflow.definitions import KINDS
from windlass.model.json import yaml as strict_yaml
from windlass.model.workflow.definition import Definition
from windlass.model.workflow.diff import difference
from windlass.model.workflow.mermaid import to_mermaid
from windlass.model.workflow.plan import plan_of
from windlass.model.workflow.read import read_definition, trust_definition

SEED = int(os.environ.get("WINDLASS_TEST_SEED", "1"))
EXAMPLES = [
    strict_yaml.parse(path.read_bytes())
    for path in sorted((ROOT / "examples" / "workflows").glob("*.yaml"))
]
NAMES = ("id", "kind", "needs", "if", "step", "when", "cases", "go", "default", "input", "inputs")
TEXTS = (
    *NAMES,
    "a",
    "map",
    "switch",
    "noop",
    "${inputs.x}",
    "${",
    "${item}",
    "any",
    "10%",
    "5s",
    "",
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(TEXTS)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def changed(draw: st.DrawFn) -> Any:
    """An example in which a few things were replaced, added or left out."""
    document = copy.deepcopy(draw(st.sampled_from(EXAMPLES)))
    for _ in range(draw(st.integers(1, 4))):
        holder: Any = document
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            inner = holder[key]
            if isinstance(inner, dict | list) and inner and draw(st.integers(0, 3)):
                holder = inner
                continue
            match draw(st.sampled_from(("replace", "remove", "add"))):
                case "replace":
                    holder[key] = draw(VALUES)
                case "remove":
                    del holder[key]
                case _ if isinstance(holder, dict):
                    holder[draw(st.sampled_from(NAMES))] = draw(VALUES)
                case _:
                    holder.append(copy.deepcopy(inner))
            break
    return document


@pytest.mark.slow
@seed(SEED)
@settings(max_examples=500, deadline=None)
@given(changed() | VALUES)
def test_any_document_is_read_or_told_what_is_wrong_with_it(document: Any) -> None:
    found = read_definition(document, KINDS)
    if isinstance(found, list):
        assert found, SEED
        assert all(problem.detail for problem in found)
        assert all(problem.pointer == "" or problem.pointer[0] == "/" for problem in found)
        return
    assert isinstance(found, Definition)
    assert trust_definition(document) == found, SEED
    # What is let through can be planned, drawn, written and compared.
    assert set(plan_of(found).vertices) == {step.id for step in found.steps}
    assert to_mermaid(found).startswith("flowchart")
    again = strict_yaml.parse(strict_yaml.write(found.document).encode("utf-8", "surrogatepass"))
    assert difference(found.document, again).is_empty, SEED
