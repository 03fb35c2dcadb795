"""Who calls and who is called: load generators, probes and receivers, each a process of its own."""
