"""Workflows as code: a @app.workflow function is traced once into a definition (DAG of steps).

    code.py       @app.workflow: calls the function once, with a Value for each parameter, and
                  writes the definition as a person would have written it
    inputs.py     its parameters: the inputs, their JSON Schema, a start's arguments
    trace.py      what it has said so far; asks whether a workflow is being traced here
    flow.py       the words: when, switch, approval, signal, transform, http, …
    block.py      with when(…), with switch(): steps that run only sometimes
    step.py       a step in the function's hands; work.py: what it does, fan-out (map), undo
    value.py      a value that will be there at run time: builds a CEL expression
    literal.py    Python constants as CEL; render.py: values as templates of JSON
    needs.py      who waits for whom: the edges of the graph
    bound.py      a workflow with options: start, or as a step of another (child workflow)

Promises: what is traced is the same document that the API takes; what cannot be traced is refused
with the user's line and what to write instead (cannot_trace.py).
Never: runs a step, or calls the function again when an execution runs.
"""
