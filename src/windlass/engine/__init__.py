"""The verbs, one a file. Each is a promise about the database; none runs by itself."""
