"""`http`: webhook delivery. One HTTP request, signed, guarded against SSRF, its answer judged.

Owns: what an `http` job may hold, what is sent, what an answer means (success, retry, dead letter),
and what is kept of it for people to look at.
Promises: every delivery of a job has the same `webhook-id` and `idempotency-key` (G3); nothing
leaves unsigned for lack of a key; no connection goes where the egress guard forbids; a secret that
was sent is redacted in what is kept; everything is bounded in time and size.
Never: decides when to try again, or whether a target's breaker opens (see model.job.target).

Doors:

    http      `Http`: the strategy. Follow it through the files below
    input     `check_input`: what an `http` job may hold
    expect    `expect`: a CEL condition on the answer
    judge     status, `expect`, Retry-After -> an outcome; `statuses_problems`
    request   headers that identify a delivery, its body, its bytes
    answer    what came back, and redirects within one origin
    record    what is kept in `attempt.detail`; redact, redact_decode: without secrets
    trouble   connection, DNS and TLS errors -> a cause to group by
    net/      connection pool, DNS, the SSRF guard; a connection is windlass.http1's
    auth/     signatures (Standard Webhooks), bearer, basic, API key, OAuth 2, mTLS
"""
