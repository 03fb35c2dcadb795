"""What changed between two definitions: steps by their id, and the fields around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from windlass.model.json.canonical import canonical_json

_MISSING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    field: str
    before: Any  # None: it was not there
    after: Any  # None: it is not there any more


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChange:
    id: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    fields: tuple[FieldChange, ...]  # of the definition itself
    added: tuple[dict[str, Any], ...]  # whole steps
    removed: tuple[dict[str, Any], ...]
    changed: tuple[StepChange, ...]
    is_reordered: bool  # the steps that both have stand in another order

    @property
    def is_empty(self) -> bool:
        return not (self.fields or self.added or self.removed or self.changed or self.is_reordered)

    def shown(self) -> dict[str, Any]:
        """As JSON; what is compared is said by whoever knows it."""
        return {
            "is_same": self.is_empty,
            "fields": [_shown(change) for change in self.fields],
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": [
                {"id": step.id, "fields": [_shown(change) for change in step.fields]}
                for step in self.changed
            ],
            "is_reordered": self.is_reordered,
        }


def difference(before: dict[str, Any], after: dict[str, Any]) -> Difference:
    """Both must be documents that were read without a problem; their layout is left out."""
    old, new = _by_id(before), _by_id(after)
    changes = [
        StepChange(id=name, fields=_changes(old[name], step))
        for name, step in new.items()
        if name in old
    ]
    kept_before = [name for name in old if name in new]
    kept_after = [name for name in new if name in old]
    return Difference(
        fields=_changes(_around(before), _around(after)),
        added=tuple(step for name, step in new.items() if name not in old),
        removed=tuple(step for name, step in old.items() if name not in new),
        changed=tuple(change for change in changes if change.fields),
        is_reordered=kept_before != kept_after,
    )


def _shown(change: FieldChange) -> dict[str, Any]:
    return {"field": change.field, "from": change.before, "to": change.after}


def _by_id(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["id"]: step for step in document["steps"]}


def _around(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in ("steps", "layout")}


def _changes(before: dict[str, Any], after: dict[str, Any]) -> tuple[FieldChange, ...]:
    return tuple(
        FieldChange(field=name, before=before.get(name), after=after.get(name))
        for name in dict.fromkeys([*before, *after])
        if not _same(before.get(name, _MISSING), after.get(name, _MISSING))
    )


def _same(one: Any, other: Any) -> bool:
    if one is _MISSING or other is _MISSING:
        return one is other
    return canonical_json(one) == canonical_json(other)
