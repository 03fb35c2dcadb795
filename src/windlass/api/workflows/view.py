"""Workflows, versions, drafts and differences as they are shown; JSON Schemas of definitions."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import Any

import msgspec

from windlass import ids
from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    ANY_OBJECT,
    COUNT,
    INSTANT,
    TEXT,
    Named,
    Schema,
    listed,
    nullable,
    record,
    ref,
)
from windlass.engine.executions.workflows import KeptDraft, Version, Workflow
from windlass.model.workflow.diff import Difference
from windlass.model.workflow.schema import definition_schemas
from windlass.strategies.input_schema import auth_schema, input_schemas


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


_HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_FLAG: Schema = {"type": "boolean"}


def step_inputs(kinds: Collection[str], auth: str | None = None) -> Named:
    """What the steps of each kind take. `auth` names the schema of one; None: it has no name."""
    known = input_schemas(is_template=True, auth=None if auth is None else ref(auth))
    return {kind: known.get(kind, ANY_OBJECT) for kind in kinds}


def schemas(kinds: Collection[str]) -> Named:
    summary = {
        "id": id_schema("workflow"),
        "name": TEXT,
        "version": COUNT,
        "hash": nullable(_HASH),
        "description": nullable(TEXT),
        "published_by": nullable(TEXT),
        "published_at": nullable(INSTANT),
        "created_at": INSTANT,
        "changed_at": INSTANT,
        "has_draft": _FLAG,
    }
    version = {
        "id": id_schema("workflow"),
        "name": TEXT,
        "version": COUNT,
        "hash": _HASH,
        "published_by": nullable(TEXT),
        "created_at": INSTANT,
    }
    change = record(field=TEXT, **{"from": {}, "to": {}})
    definitions = definition_schemas(step_inputs(kinds, "DefinitionAuth"), "#/components/schemas/")
    return {
        **definitions,
        "DefinitionAuth": auth_schema(is_template=True),
        "DefinitionPut": {**definitions["Definition"], "required": ["steps"]},
        "WorkflowSummary": record(**summary),
        "Workflow": record(**summary, definition=nullable(ref("Definition"))),
        "WorkflowVersionSummary": record(**version),
        "WorkflowVersion": record(**version, definition=ref("Definition")),
        "WorkflowDraft": record(name=TEXT, version=COUNT, draft=ANY_OBJECT, changed_at=INSTANT),
        "WorkflowDiff": record(
            **{"from": COUNT, "to": COUNT},
            is_same=_FLAG,
            fields=listed(change),
            added=listed(ref("DefinitionStep")),
            removed=listed(ref("DefinitionStep")),
            changed=listed(record(id=TEXT, fields=listed(change))),
            is_reordered=_FLAG,
        ),
        "Verdict": record(valid=_FLAG, errors=listed(record(pointer=TEXT, detail=TEXT))),
    }
