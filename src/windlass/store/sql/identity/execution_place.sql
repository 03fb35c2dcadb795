-- execution_place: the workflow that an execution is of.
-- params: id uuid     returns: workflow
-- Index: primary key.
SELECT workflow FROM windlass.execution WHERE id = $1
