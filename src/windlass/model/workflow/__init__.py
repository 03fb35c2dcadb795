"""Workflows: definitions (a DAG of steps), their validation, the plan to run, an execution's state.

Owns: the language windlass/v1 and every check of it; which step follows which end (join, condition,
switch, fan-out, compensation); what an execution's state is, given its jobs.
Promises: a definition that was let through has no cycle, no step that can never run and no
expression that names what is not there; every problem is told at once, with its pointer. A step is
ready only when enough of what it needs has ended as required (G5); an execution's state is the
aggregate of its jobs and nothing else (G8).
Never: knows rows, nodes or the network. The engine (engine/executions) does what is decided here.

    document -> read -> definition -> plan -> readiness -> decide_step -> a job, a wait, or an end

Doors:

    read           `read_definition` with all checks; `trust_definition` for what was published
    definition     the values that a definition is made of: Definition, Step, Need, Inner
    step_kinds     the table of the kinds of steps, and `complete` for verbs that differ by kind
    plan           `plan_of`: templates compiled, dependents known; `readiness` of a step
    step_decision  `decide_step`: conditions and templates evaluated, once
    execution      `execution_state` from its jobs; `complete_input`: defaults, then its schema
    redo           which steps a rerun does again
    refresh        which node refreshes which shard (rendezvous hashing), and how often (throttle)
    schema         the published JSON Schema; diff: two versions compared; mermaid: a flowchart
    known_kinds    what an installation tells the checks: kinds, their schemas, tasks

Behind `read`: `collector` gathers problems and expressions; `read_step`, `read_work` and `fields`
read the parts; `graph`, `check_graph`, `check_names` and `check_input` judge the whole.
"""
