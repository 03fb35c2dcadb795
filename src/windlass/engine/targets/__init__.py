"""Targets: the hosts that webhooks go to, each with a circuit breaker, a rate limit and a bulkhead.

A job whose target has no room is parked: it stays `queued` outside its line, and spends no attempt.
As soon as there is room it is unparked, with a pass where a limit was counted or where it is the
probe of a half-open breaker.

    closed --failures in a row--> open --rest is over--> half open --the probe answers--> closed
                                                           '--the probe fails-------> open

Owns: the rows of targets, and the only statements that end a job's parking for one.
Promises: how many run at once is counted under the lock of the target's row, so it is exact in the
whole cluster, and so is who probes; whatever is parked goes as soon as there is room, or ends; a
breaker survives a restart of every node and a flushed Redis (G9). What waits for a receiver that
answered 410 is a dead letter after a day.
Never: delivers (strategies.http), or decides on a node whether a claimed job may begin
(runtime.worker.target_gate, which asks here).

Doors:
  targets      list, read, set limits, enable, disable, reset: what people ask for
  unpark       `unpark`, the moves of the breaker, what has changed, the tallies: what nodes ask for
  deliveries   `read_webhook_status`: every delivery of one job, and when the next one goes

Whether a target has room, and what an answer says of it, is decided in model.job.target.
"""
