"""What changed between two definitions, step by step."""

from __future__ import annotations

from tests.model.workflow.definitions import document, step
from windlass.model.workflow.diff import FieldChange, StepChange, difference


def test_steps_are_compared_by_their_id_and_field_by_field() -> None:
    before = document(step("a", timeout="5s"), step("b"), step("c"), timeout="1h", layout={"a": 1})
    after = document(
        step("a", timeout="9s", needs=["d"]), step("c", "fail"), step("d"), vars={"x": 1}
    )
    found = difference(before, after)
    assert found.fields == (
        FieldChange(field="timeout", before="1h", after=None),
        FieldChange(field="vars", before=None, after={"x": 1}),
    )
    assert found.added == (step("d"),)
    assert found.removed == (step("b"),)
    assert found.changed == (
        StepChange(
            id="a",
            fields=(
                FieldChange(field="timeout", before="5s", after="9s"),
                FieldChange(field="needs", before=None, after=["d"]),
            ),
        ),
        StepChange(id="c", fields=(FieldChange(field="kind", before="noop", after="fail"),)),
    )
    assert not found.is_reordered
    assert not found.is_empty


def test_what_means_the_same_is_no_difference() -> None:
    before = document(step("a", input={"x": 1, "y": 2}), layout={"a": 1})
    after = document(step("a", input={"y": 2.0, "x": 1}))
    assert difference(before, after).is_empty


def test_another_order_of_the_same_steps_is_told() -> None:
    found = difference(document(step("a"), step("b")), document(step("b"), step("a")))
    assert found.is_reordered
    assert (found.added, found.removed, found.changed) == ((), (), ())
    assert found.shown()["is_reordered"] is True
