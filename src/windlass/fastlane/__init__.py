"""The fast lane: Redis or Valkey, for hints, rate limits and a shared cache; it may vanish.

Without it Windlass is only slower: nodes and waiting callers poll PostgreSQL in any case, and what
a message says is asked there before anything is done.

Owns: every connection to Redis, every key and channel (`keys`), and the Lua scripts in lua/.
Promises: nothing is lost or doubled when Redis is flushed, killed or absent (G9); every call has a
deadline, nobody waits for a publish, and after a failure there are no calls for a moment (circuit
breaker); what is away raises LaneDown, and every caller has another way. All of it works behind
Sentinels and on a Cluster: no script touches two slots.
Never: keeps the only copy of anything, or decides what PostgreSQL decides.

Doors:
  lane              `FastLane`: publish, on_message, ask a script, gather commands; `LaneDown`
  connect           the client for a URL: one server, Sentinels, a Cluster
  keys              every name, with owner, lifetime, and how it comes back after a flush
  coordinator       heartbeats of nodes
  signals           signals between nodes, with acknowledgements
  marks             executions that are out of date, by shard
  shared_cache      values that all nodes share, and their invalidation
  target_rate       the rate limit of a target over all nodes
  request_rate      requests a second of a caller over all nodes
  target_failures   failures in a row of a target, for its circuit breaker
  sweep             garbage collection after dead nodes; sweep_judge, sweep_scripted and
                    sweep_pipelined are its parts

A new key is a row in `keys`; a new script is a file in lua/ that answers in words.
"""
