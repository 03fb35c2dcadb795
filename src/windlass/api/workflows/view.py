"""What is shown of workflows, their versions, drafts and differences."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from windlass import ids
from windlass.engine.executions.workflows import KeptDraft, Version, Workflow
from windlass.model.workflow.diff import Difference


def id_of(name: str) -> str:
    """The id of a workflow. Its name is what tells it from others, and the id follows from that."""
    return ids.PREFIXES["workflow"] + sha256(name.encode()).hexdigest()[:32]


def summary_view(workflow: Workflow) -> dict[str, Any]:
    """As lists show it."""
    return {
        "id": id_of(workflow.name),
        "name": workflow.name,
        "version": workflow.version,
        "hash": _hex(workflow.hash),
        "description": workflow.description,
        "published_by": workflow.published_by,
        "published_at": workflow.published_at,
        "created_at": workflow.created_at,
        "changed_at": workflow.changed_at,
        "has_draft": workflow.has_draft,
    }


def workflow_view(workflow: Workflow) -> dict[str, Any]:
    return {**summary_view(workflow), "definition": _json(workflow.definition)}


def version_summary(version: Version) -> dict[str, Any]:
    return {
        "id": id_of(version.workflow),
        "name": version.workflow,
        "version": version.version,
        "hash": version.hash.hex(),
        "published_by": version.published_by,
        "created_at": version.created_at,
    }


def version_view(version: Version) -> dict[str, Any]:
    return {**version_summary(version), "definition": _json(version.definition)}


def draft_view(draft: KeptDraft) -> dict[str, Any]:
    return {
        "name": draft.name,
        "version": draft.version,
        "draft": _json(draft.text),
        "changed_at": draft.changed_at,
    }


def diff_view(before: int, after: int, found: Difference) -> dict[str, Any]:
    return {"from": before, "to": after, **found.shown()}


def _hex(digest: bytes | None) -> str | None:
    return None if digest is None else digest.hex()


def _json(text: str | None) -> msgspec.Raw | None:
    """Sent on as it is kept: nobody parses it on the way."""
    return None if text is None else msgspec.Raw(text.encode())
