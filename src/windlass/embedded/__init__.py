"""The PostgreSQL and the Valkey that come with Windlass, run as private children of one process.

`EmbeddedServers` is the front door. What stands behind it:

    <data>/lock                held by the one process that uses this folder
    <data>/log/*.log           what the servers say
    <data>/passwords           how to log in, for whoever owns the folder
    <data>/postgresql/cluster  the database; its socket lies beside it
    <data>/valkey              Valkey's socket; nothing is kept there

Promises: data survives anything that PostgreSQL survives; no server outlives our process; nobody is
let in without a password, and nothing listens on the network unless asked to; it works as root, as
a normal user and in any folder. Linux only: it leans on /proc and on the kernel's parent-death
signal.
"""
