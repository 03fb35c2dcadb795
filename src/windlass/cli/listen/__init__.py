"""`windlass listen`: a webhook receiver for development: prints, verifies and forwards deliveries.

Owns: a small HTTP server on the developer's machine, for as long as the command runs.
Promises: a body beyond the cap is refused before it is read; a repeated delivery is recognised;
the sender gets the same answer whatever its signature says: this is a witness, not a guard.
Never: is part of a node; Windlass delivers to it as to any receiver. It only borrows the server
that stands before the API (api.http.serve, uvicorn), and so its bounds on strangers.

    command.py   the options
    serve.py     bind, serve (as the API is served), end at a signal
    receive.py   one delivery, from its arrival to its answer
    verify.py    Standard Webhooks signatures: HMAC and Ed25519
    forward.py   the answer: a fixed status, or that of a program behind us (reverse proxy)
    view.py      what is printed
"""
