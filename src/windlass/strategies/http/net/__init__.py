"""The network below a delivery: connection pool, DNS resolver, SSRF guard.

Owns: every socket that a strategy opens to somebody else's machine, for a delivery or for an OAuth
token.
Promises: the egress guard judges the address that is connected to, at the moment its socket is
made, on every hop, however it was written; lookups and idle connections are bounded; an answer is
read up to a cap. The connections themselves speak HTTP/1.1 by windlass.http1.
Never: follows a redirect, retries, or knows what a webhook is.

Doors:

    pool      `Pool.take` and `give`: a connection for one exchange; `Timings`
    egress    `Egress`: which addresses may be reached (the SSRF table and its exceptions)
    resolver  `Resolver`: DNS in threads of its own, cached, with a deadline
    address   `read_address`: host, port and path of a URL, as they go on the wire
"""
