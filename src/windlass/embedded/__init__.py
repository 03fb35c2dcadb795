"""The PostgreSQL and the Valkey that come with Windlass, run as private children of one process.

`EmbeddedServers` is the front door. What stands behind it:

    <data>/lock                held by the one process that uses this folder
    <data>/restore.unfinished  a restore into this folder has not come to its end
    <data>/log/*.log           what the servers say
    <data>/passwords           how to log in, for whoever owns the folder
    <data>/postgresql/cluster  the database; its socket lies beside it
    <data>/valkey              Valkey's socket; nothing is kept there

Promises: data survives anything that PostgreSQL survives; no server outlives our process; nobody is
let in without a password, and nothing listens on the network unless asked to; it works as root, as
a normal user and in any folder. Linux only: it leans on /proc and on the kernel's parent-death
signal.

    servers                  both of a folder, under its lock; keeps nothing running when one fails
    postgres, valkey         each server: what it is told, who may log in, when it is ready
    server                   what they share: a home, a socket, a log, a child, a life
    client                   pg_dump, pg_restore and psql, for backups
    child, launch, orphan    a process that ends with ours; what a killed owner left behind
    processes                other processes, as /proc shows them
    cluster, trust           initdb, whole or not at all; clusters of the first release
    account, staging         the unprivileged account of a server; programs that it can run
    passwords, sockets, log  what lies in the folder, and for whom alone
    binaries, listen         where the wheels put the programs; an address given as text
    errors, limits           what can go wrong, and the bounds
"""
