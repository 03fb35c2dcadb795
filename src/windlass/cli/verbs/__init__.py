"""The commands of the command line: `windlass NOUN VERB`, a file a noun.

Owns: the options of each command, and which call of the API it makes.
Promises: a file is imported only for its own command; every read takes -o table|json|jsonl|id.
Never: draws (cli.show does) or speaks HTTP by hand (cli.http does).

A new command is a function here and a row in cli/commands.py. Where a noun has several files:

    backup/       `backup` and `restore`
    identity/     people, keys, sessions; log in and out
    job/          submit, list, watch, cancel jobs
    schedule/     rules in time
    workflow/     definitions and their runs
    node.py       runs a node; node_read.py looks at nodes, node_change.py resizes and drains
    secret.py     and reencrypt.py, which works beside the database

One file each: approval audit bench completion config dead doctor event execution health lock
migrate operation queue stats sweep target task up.
"""
