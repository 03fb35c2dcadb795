"""JSON at the door and on the way out: strict parsing, YAML, JSON Schema, canonical form, ETags.

Owns: which JSON is taken and which is refused, and how a value is written for PostgreSQL.
Promises: no parser here takes a duplicate key, NaN, a lone surrogate, NUL or bottomless nesting;
checking a value against a schema that a stranger wrote is bounded in work; a problem is told by its
JSON pointer.
Never: knows what a document is about. Who reads a job, a definition or a schedule comes here for
the pieces.

Doors:

    strict            `parse` and `write`: JSON; `read_stored`: what a JSON column holds
    yaml              the same values in YAML, without its surprises
    storable          whatever a task or a receiver said, made fit to be stored
    canonical         one text for one meaning, and its hash
    schema            `value_problems`: is a value as its schema says? `with_defaults`
    schema_check      is a schema one that can be used?
    value_schema      schemas of names, texts, instants and durations, as strict as their readers
    duration_pattern  the regular expression of a range of durations
    etag              entity tags and preconditions (optimistic lock: If-Match, If-None-Match)
    pointer           JSON pointers; printable: text for one line; whole: whole numbers
"""
