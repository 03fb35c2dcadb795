"""/v1/workflows: definitions of workflows (DAGs of steps): publish, validate, version, diff, draft.

Owns: how a definition comes in (JSON or YAML) and how versions, drafts and differences are shown.
Promises: a version never changes; the same definition again is the same version. A draft may be
full of mistakes and nothing runs of it. PUT takes ETags (optimistic lock).
Never: judges a definition by itself: model.workflow.read does, and every problem is told at once.

    workflows.py   list, get, publish (POST, PUT), delete, validate; the schema of a definition
    versions.py    list and read versions, diff, export as YAML, JSON or Mermaid
    draft.py       the draft: read, keep, publish, discard
    body.py        a definition in a request, read and checked
    view.py        what is shown, and its JSON Schemas

Runs of workflows are in api/executions.
"""
