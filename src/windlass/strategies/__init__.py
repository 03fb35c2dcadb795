"""The outside world: one strategy a kind, each turning an attempt into an outcome."""
