"""Figures of what programs do through the SDK: enqueue, map, commit, and being imported."""
