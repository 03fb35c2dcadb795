"""`windlass backup` and `windlass restore`: work beside a database, as `doctor` does.

take      a database into a file
restore   a file into a new folder or an empty database; --drill: into nothing that stays
run       what both do: settings, progress, an end at the first signal
"""
