"""Authorisation (RBAC): the one table of rights, and the lowest role that has each of them.

A right is a noun and a verb. Every route names the one it needs (api.http.route), the OpenAPI
document shows it, and a key with scopes has just those that it names. A role has its own rights and
those of the roles below it:

    viewer     reads what runs and what is defined; no secrets, no people
    operator   runs it: submits, cancels, replays, pauses, resizes, approves
    editor     defines it: workflows, schedules, limits, secrets
    admin      says who may: users, keys, sessions of others, the audit log
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Role = Literal["viewer", "operator", "editor", "admin"]
ROLES: Final[tuple[Role, ...]] = ("viewer", "operator", "editor", "admin")

# What a route needs that asks for no right: nothing at all, or that the caller is known.
NOBODY: Final = "nobody"
ANYBODY: Final = "anybody"

# right -> the lowest role that has it, and what it lets one do.
RIGHTS: Final[Mapping[str, tuple[Role, str]]] = {
    "jobs:read": ("viewer", "read jobs with their inputs and results, dead letters and tasks"),
    "jobs:submit": ("operator", "submit jobs"),
    "jobs:control": ("operator", "cancel, retry, replay, discard and delete jobs, one or many"),
    "queues:read": ("viewer", "read queues and counters"),
    "queues:control": ("operator", "pause and resume queues"),
    "queues:edit": ("editor", "set the limits of queues"),
    "targets:read": ("viewer", "read the targets of webhooks"),
    "targets:control": ("operator", "reset, enable and disable targets"),
    "targets:edit": ("editor", "set the limits of targets; read a receiver's signing secret"),
    "locks:read": ("viewer", "read locks, who holds them and who waits"),
    "locks:hold": ("operator", "take, renew and release locks"),
    "locks:edit": ("editor", "set the capacity of locks"),
    "secrets:read": ("operator", "read the names of secrets, never a value"),
    "secrets:edit": ("editor", "store, rotate, bind and delete secrets"),
    "workflows:read": ("viewer", "read and validate definitions of workflows"),
    "workflows:edit": ("editor", "publish and delete workflows, edit their drafts"),
    "executions:read": ("viewer", "read executions, with their inputs and outputs, and approvals"),
    "executions:start": ("operator", "start executions"),
    "executions:control": ("operator", "cancel, pause, resume, rerun and signal executions"),
    "executions:approve": ("operator", "approve and reject what waits for a person"),
    "schedules:read": ("viewer", "read and preview schedules, and their firings"),
    "schedules:control": ("operator", "pause, resume, trigger and backfill schedules"),
    "schedules:edit": ("editor", "make, change and delete schedules"),
    "events:read": ("viewer", "read and follow events"),
    "cluster:read": ("viewer", "read nodes, operations, the leader, caches and refreshing"),
    "cluster:control": ("operator", "resize, pause and drain nodes, sweep, empty caches"),
    "cluster:signal": ("admin", "send signals to nodes"),
    "metrics:read": ("viewer", "read the metrics of a node"),
    "sessions:own": ("viewer", "list and end sessions of one's own"),
    "keys:own": ("viewer", "make and revoke API keys of one's own, for no more than one may"),
    "keys:edit": ("admin", "list, make, rotate and revoke everybody's API keys"),
    "users:edit": ("admin", "list, make, change and delete users, end their sessions"),
    "audit:read": ("admin", "read and export the audit log"),
}

_RANK: Final = {role: rank for rank, role in enumerate(ROLES)}


def has_role(role: Role, least: Role) -> bool:
    """Is `role` at least so high?"""
    return _RANK[role] >= _RANK[least]


def rights_of(role: Role) -> frozenset[str]:
    """All that a role may do."""
    return _OF_ROLE[role]


def roles_with(right: str) -> list[Role]:
    """The roles that have a right, the lowest first."""
    return [role for role in ROLES if right in _OF_ROLE[role]]


_OF_ROLE: Final[Mapping[Role, frozenset[str]]] = {
    role: frozenset(right for right, (least, _) in RIGHTS.items() if has_role(role, least))
    for role in ROLES
}
assert all(right.count(":") == 1 for right in RIGHTS), "a noun and a verb"
