"""The doctor (`windlass doctor`): a consistency check, or fsck, of the whole database.

Owns: one check for each promise that can be looked at afterwards, and the repairs that can do no
harm.
Promises: may run beside working nodes, and changes nothing unless it is asked to repair. A finding
says which job, queue or schedule, what is wrong, and what a repair would do, or that somebody must
decide.
Never: guesses how a job ended, or takes one from the node that runs it.

Doors:
    doctor      `doctor` does all checks in turn, those of counters, locks (holds and waiters belong
                to living jobs) and partitions (of the days to come) by itself; DoctorReport
    finding     Finding, one thing that is wrong
Checks:
    folds       events fold to rows (G10); no job is both unfinished and in the history
    links       dependencies are linked (G5); every running job has an owner
    privileges  our role has the rights of a node; notes what it has beyond, and on the wire
    ledger      every due instant of a schedule has its row (G6)
"""
