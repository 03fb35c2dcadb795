"""Telemetry of a node: Prometheus metrics and structured logs.

Owns: the names of the metrics (fixed by the contract), their registry, and how a log line looks.
Promises: what the hot path observes takes no lock; as JSON every line is one object, whoever says
it; labels have a bounded number of values.
Never: asks the database (figures that need it are read by api.cluster.metrics), or decides
anything.

Doors:
  metrics   `Metrics`: one method for each thing that happens; adding a metric is adding one here
  logs      `configure_logs`: console or JSON, libraries and uncaught errors included
  buckets   histograms that are cheap to observe
"""
