"""Plugins: strategies that installed distributions bring as entry points, with kinds of their own.

Owns: finding and importing them, again while the node runs (reload), and what is shown of each.
Promises: a plugin that cannot be loaded is an answer with its error and stands in nobody's way; an
attempt ends with the code it began with, and that is closed after its last one.
Never: lets a plugin take the name of a built-in kind, or trusts what it returns.

Doors:

    load         `load_plugins`: the entry points of `windlass.strategies`, each a `Plugin`
    strategy     `PluginStrategy`: a plugin's class as a strategy: checked, counted, retired
    description  what the API shows of a strategy: version, schemas, tasks, error
"""
