"""Backups: the whole of Windlass in one file, and out of it again.

    windlass.dump
    +--------------------------------------------+
    | what pg_dump writes, in its custom format  |   pg_restore reads the file, too: it does not
    +--------------------------------------------+   look behind its own end
    | {"taken_at": …, "jobs": …, "sha256": …}    |   what it holds, and whether it is whole
    +--------------------------------------------+
    | windlass backup 1 0000000512               |   48 bytes: where that begins
    +--------------------------------------------+

Owns: that file, and the steps from a database to it and back.
Promises: consistent, of one snapshot, while everything goes on working; a file that has its name is
whole; nothing that has data is ever written over by a restore, and one that was interrupted leaves
an empty database, or a folder that says so and is begun anew.
Never: contains the key that secrets are encrypted with. Who has the file alone cannot read them.

    take      from a database to a file
    draft     the file while it is written: beside its name, and at its name when it is whole
    archive   the file: reading and writing what stands behind the dump, and checking all of it
    restore   from a file into a new data folder, or into an empty database
    load      the dump into a database, in one transaction
    contents  what is in a database: counts, the state of its tables, the keys of its secrets
"""
