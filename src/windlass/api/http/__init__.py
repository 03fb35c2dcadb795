"""The door of the API: HTTP server, ASGI middleware, authentication, routing, shared by all nouns.

A request on its way, and which file has it:

    bytes       serve.py (uvicorn), connections.py (how many), connection.py (a head, bounded)
                tls.py before it where the API speaks https; security_headers.py after it
    door.py     request id, key or session (auth.py, CSRF with it), caller.py: who calls, and
                whose word about that is taken (proxies.py)
    router.py   finds by path and method the row that says what is called (route.py), and whether
                this caller may (authorize.py); query.py and body.py read what it takes
    handler     in the noun's own room
    reply.py    the answer; paging.py a page of a list, stream.py server-sent events (SSE)
    problem.py  or the refusal: application/problem+json (RFC 9457)

Owns: whatever is the same for every noun. Around a handler stand `idempotency.idempotent` (the
header Idempotency-Key) and `conditional` (ETag, If-Match, If-None-Match: optimistic lock).
Promises: nobody without a key stops a node; nothing is believed before it is bounded in size and
in time (backpressure: body_budget.py, spool.py); an unknown field, parameter or header that
matters is refused and named.
Never: decides what a noun does. What a field means is said in field_texts.py, how a noun is
routed in noun.py, what JSON Schemas are made of in shapes.py; host.py reads a target's host.

For people: docs_page.py is /docs, problem_pages.py is /problems/{code}.
"""
