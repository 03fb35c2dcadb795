"""`windlass schedule …`: rules in time, and what became of them.

Owns: the commands of schedules and their options. (`schedule import` is cli/imports.)
Promises: what is shown of a rule is what the server made of it.
Never: computes an occurrence here.

    command.py      the noun: make, list, show, try a rule
    options.py      when, what and how, as options
    many.py         pause and resume, one or many
"""
