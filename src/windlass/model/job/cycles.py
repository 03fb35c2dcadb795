"""Finding a cycle among jobs that depend on one another."""

from __future__ import annotations

from collections.abc import Mapping


def find_cycle(waits: Mapping[int, set[int]]) -> list[int]:
    """Those that can never begin: they wait in a cycle, or for one. `waits` is not changed."""
    open_ones = {place: len(parents) for place, parents in waits.items()}
    children: dict[int, list[int]] = {}
    for place, parents in waits.items():
        for parent in parents:
            children.setdefault(parent, []).append(place)
    free = [place for place, count in open_ones.items() if not count]
    while free:
        parent = free.pop()
        del open_ones[parent]
        for child in children.get(parent, ()):
            open_ones[child] -= 1
            if not open_ones[child]:
                free.append(child)
    return sorted(open_ones)
