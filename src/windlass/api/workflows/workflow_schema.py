"""Workflows, their versions, drafts and differences; and definitions, as they come in."""

from __future__ import annotations

from collections.abc import Collection

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
from windlass.model.workflow.schema import definition_schemas
from windlass.strategies.input_schema import auth_schema, input_schemas

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
