"""Heavy expressions and schemas, evaluated in a subprocess that does not block the event loop.

    the node's loop -> Evaluator -> one thread -> socket -> the process, niced and bounded in memory

Owns: that process: when it is begun, how long it may take, and its end.
Promises: every question has its answer. A process that dies, hangs or cannot be begun is replaced
later, and its question is answered in the node meanwhile. It has none of the node's secrets.
Never: knows what is asked: questions and answers are those of model.expression.evaluation. What is
light is evaluated where it is needed, without coming here.

Doors:
    evaluator    Evaluator.ask
    process      the other side; `lower_priority` for any process that shall give way to the node
    environment  `plain_environment`: the variables that such a process gets
"""
