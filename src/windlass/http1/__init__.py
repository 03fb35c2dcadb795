"""HTTP/1.1 as a client speaks it, on asyncio and httptools: no library of HTTP above them.

Owns: the bytes of one connection, from a written request to the end of its answer.
Promises: head and body are bounded by what their reader says, before they are parsed; a connection
is used again only when nothing of the last exchange can be left on it; a reader that is slow keeps
the sender waiting instead of filling the memory.
Never: opens a socket, keeps a pool, retries, follows a redirect or decompresses. Deliveries
(strategies.http.net.pool) and the SDK (sdk.http.http_transport) each bring their own of that.

    connection   `Connection`: one request at a time; `AnswerBounds`; `ConnectionBroken`
"""
