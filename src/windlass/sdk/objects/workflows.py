"""Workflows, their versions and drafts, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from windlass.sdk.http.api_object import ApiObject


class Workflow(ApiObject):
    """A workflow with the definition of its newest version."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "version")

    id: str
    name: str
    version: int
    hash: str | None
    description: str | None
    published_by: str | None
    published_at: datetime | None
    created_at: datetime
    changed_at: datetime
    has_draft: bool
    definition: dict[str, Any] | None


class WorkflowSummary(ApiObject):
    """A workflow in a list, without its definition."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "version")

    id: str
    name: str
    version: int
    hash: str | None
    description: str | None
    published_by: str | None
    published_at: datetime | None
    created_at: datetime
    changed_at: datetime
    has_draft: bool


class WorkflowVersion(ApiObject):
    """A version of a workflow, with its definition."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "version")

    id: str
    name: str
    version: int
    hash: str
    published_by: str | None
    created_at: datetime
    definition: dict[str, Any]


class WorkflowVersionSummary(ApiObject):
    """A version of a workflow in a list."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "version")

    id: str
    name: str
    version: int
    hash: str
    published_by: str | None
    created_at: datetime


class WorkflowDraft(ApiObject):
    """A definition that somebody works on."""

    _shown: ClassVar[tuple[str, ...]] = ("name", "version")

    name: str
    version: int
    draft: dict[str, Any]
    changed_at: datetime


class FieldChange(ApiObject):
    """A field that two versions have otherwise; the values are the items `from` and `to`."""

    _shown: ClassVar[tuple[str, ...]] = ("field",)

    field: str
    to: Any


class StepChange(ApiObject):
    """A step that two versions have otherwise."""

    _shown: ClassVar[tuple[str, ...]] = ("id",)

    id: str
    fields: list[FieldChange]


class WorkflowDiff(ApiObject):
    """What two versions of a workflow have otherwise."""

    _shown: ClassVar[tuple[str, ...]] = ("from", "to")

    to: int
    is_same: bool
    fields: list[FieldChange]
    added: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    changed: list[StepChange]
    is_reordered: bool


class DefinitionProblem(ApiObject):
    """Something wrong with a definition, and where."""

    _shown: ClassVar[tuple[str, ...]] = ("pointer", "detail")

    pointer: str
    detail: str


class Verdict(ApiObject):
    """Whether a definition could be published."""

    _shown: ClassVar[tuple[str, ...]] = ("valid",)

    valid: bool
    errors: list[DefinitionProblem]
