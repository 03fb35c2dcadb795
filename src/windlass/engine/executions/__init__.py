"""Executions of workflows (workflow engine): the graph's steps are jobs, and this says which comes
next: join, fan-out, child workflow, signal, approval, compensation (saga), durable function.

Owns: what is written of workflows, executions, fan-outs, signals, approvals and checkpoints; but
for a cancel on its way down a tree (engine.jobs.end) and retention (engine.jobs.retain).
Promises: the next step is inserted by the transaction that ends the one before, so an execution is
never between two steps; no step starts before its needs are met (G5). A start that was answered is
committed (G1), one that was cancelled never ends `succeeded` (G7), a state is the aggregate of the
jobs (G8). What follows a commit is idempotent, and found again after a crash.
Never: performs a step, claims, or decides a retry (engine.jobs, runtime.worker); evaluates what
takes long on the event loop; lets others wait for one whose row somebody holds.

Doors:
    workflows, definitions             publish versions and drafts; versions, cached
    start_batch, start_plain           begin, batched for the API; by one statement, if it is enough
    start, tree                        begin within a transaction; bounds
    concurrency                        turns: who of one concurrency key may run now
    progress, board, step_rows         a step has ended: decide what follows, write it
    decide_apart, facts, early_start   heavy expressions; plans and inputs, cached; no claim needed
    fan_out, fan_out_items, children  `map` steps and their items; child executions
    signals, approvals                 what comes from outside, and who waits for it
    checkpoints, checkpoint_waits      durable functions: what they did, and their rests
    refresh, conclude                  state from the jobs, by shard; output, compensation, the end
    upkeep                             what follows commits, and what a crash left undone
    control, rerun, replay_steps       cancel, pause, resume; do again, whole or by a job
    read, graph, why                   lists and pages; steps drawn; why it has not ended
"""
