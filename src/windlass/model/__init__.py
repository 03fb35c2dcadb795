"""Pure values and decisions: the domain model. Time and chance are arguments.

Owns: what a job, a workflow, a schedule, a lock, a target and a node operation are, which moves are
legal, and every decision that follows from facts alone: retry and backoff, dead letter, circuit
breaker, rate limit, what a step becomes, which instants are due.
Promises: the same arguments give the same answer, on whichever node; nothing here waits.
Never: awaits, reads a clock, draws a random number, or knows a database, a socket or a strategy.

Its rooms, by noun:

    job/         an attempt, its outcome and settlement; submissions, events, locks, webhook targets
    workflow/    definitions, their graph and checks; the plan, the state of an execution
    schedule/    cron and other rules, time zones and DST, calendars, misfires
    expression/  CEL: conditions, templates, and the evaluation of both
    json/        strict JSON and YAML, JSON Schema, ETags
    identity/    who calls and what they may do: roles, rights, scopes
    cluster/     operations on nodes, signals between them, their heartbeats

Beside them: `trace_context` (W3C traceparent) and `row` (a database row, as all of them read it).
"""
