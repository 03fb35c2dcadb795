"""Schedules (cron, every, at): put, fired when due, by misfire and overlap policies; backfill, and
a ledger of every instant.

Owns: the rows of schedule and firing.
Promises: a due instant is decided exactly once, whichever nodes believe that they lead, and has its
row in the ledger: fired, late, skipped with the reason, or coalesced (G6). Ledger, job or execution
and the next instant are one commit under the schedule's lock; an edit loses no instant and doubles
none. A schedule that cannot be fired holds up no other.
Never: reads a node's clock (the database's decides what is due), or works out a rule's instants and
what becomes of them (model.schedule: next, decision). When a round comes is runtime.firing's.

Doors:
    schedules                  make, put, read, list, delete, pause, resume; the lock they share
    schedule                   the records: Schedule, ScheduleDraft, ScheduleFilter, Firing
    fire                       the leader's round: lock what is due, enter it, move on
    decide                     which instants are due and what each makes: PlannedFiring, Fired
    make, make_executions      insert jobs, start executions; what was refused, and why
    fire_together              thousands that are alike, as one batch
    trigger, backfill          fire one now; make up for a stretch of the past, counted first
    ledger                     list firings, count silent schedules, retention
    known_rules                rules and their next instants, cached
"""
