"""What becomes of a node's plugins when they are loaded again: a decision, without doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as with_changes

from windlass.strategies.plugins.load import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """The kinds of plugins, by what became of them."""

    added: list[str]
    changed: list[str]  # loaded from other code than before
    removed: list[str]
    errors: dict[str, str]  # why one could not be loaded; the one before it goes on


def replace(
    before: Mapping[str, Plugin], found: Mapping[str, Plugin]
) -> tuple[dict[str, Plugin], Replaced]:
    """The plugins to go on with. A broken one leaves the strategy that it had before."""
    after: dict[str, Plugin] = {}
    for kind, plugin in found.items():
        known = before.get(kind)
        if plugin.strategy is None and known is not None and known.strategy is not None:
            plugin = with_changes(known, error=plugin.error)
        after[kind] = plugin
    works = {kind for kind, plugin in after.items() if plugin.strategy is not None}
    worked = {kind for kind, plugin in before.items() if plugin.strategy is not None}
    return after, Replaced(
        added=sorted(works - worked),
        changed=sorted(
            kind for kind in works & worked if after[kind].digest != before[kind].digest
        ),
        removed=sorted(worked - works),
        errors={kind: plugin.error for kind, plugin in after.items() if plugin.error is not None},
    )
