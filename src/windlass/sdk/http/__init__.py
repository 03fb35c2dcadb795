"""The clients of the HTTP API, blocking and asynchronous: transport, retries, paging, errors, SSE.

    Client ------ portal (one loop, one thread) --+
                                                  v
    AsyncClient -> nouns -> exchange (retry with backoff, idempotency key) -> transport -> API

Owns: how a call reaches a server and what becomes of its answer.
Promises: a call whose answer was lost is repeated with the same Idempotency-Key, so nothing is
done twice; one implementation serves both kinds of callers, threads and forked children too; a
refusal raises the class that the server raised it by.
Never: follows a redirect, keeps a cookie or reads proxy settings; knows a noun of the API.

    async_client.py, client.py    what users make: AsyncClient, Client
    exchange.py                   one call, made again until it is answered
    transport.py                  the seam: http_transport.py or in_process.py
    local_key.py                  the key of a `windlass up` on this machine, for who may have it
    connections.py                the connection pool below http_transport.py, keep-alive
    wire.py                       paths, bodies, answers, trace headers
    problems.py                   errors (RFC 9457) as exceptions
    api_object.py                 what is answered: a dict with typed attributes
    paging.py, stream.py, wait.py lists, the event stream (SSE), long polling
    blocking.py, portal.py        blocking callers' way to asynchronous code
    cross_loop.py                 an ASGI application on another event loop
"""
