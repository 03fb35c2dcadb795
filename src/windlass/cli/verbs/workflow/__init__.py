"""`windlass workflow …`: definitions in files, their versions, and a run by hand.

Owns: the commands of workflows and their options.
Promises: a file is checked here as the server would check it, with line and field.
Never: runs a step; nodes do.

    command.py      the noun: check, publish, compare, list
    file.py         definitions in files
    run.py          `run`: start one
"""
