"""Talking to a Windlass server from the command line, through the SDK: lists, waits, events.

Owns: deadlines, how long a command is patient, and what a refusal means for the exit code.
Promises: a call whose connection was lost is made once more, safely: every POST has an
Idempotency-Key. A wait and a stream of events go on while the server restarts.
Never: opens a connection, retries or reads an answer's framing itself; sdk.http does.

    client.py    `Client`: get, post, put, patch, delete, upload; `each` event of a stream
    problem.py   a problem document (RFC 9457) as `Refused`, with its exit code
    stored_login.py   the login of `windlass login`, a file for each server
    listing.py   `show_list`, `show_whole`, `show_one`: follow cursors, print as asked
    wait.py      `wait_and_show` a job or an execution; `wait_for_operation`
    tail.py      `follow` the event stream across lost connections
    whole_id.py  `whole_id`: from the first digits of an id, or a node's name, to the id
    each.py      `for_each`: the same verb for several things
"""
