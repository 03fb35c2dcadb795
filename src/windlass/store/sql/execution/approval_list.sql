-- approval_list: decisions that people are asked for, newest first.
-- params: most int4, then those that engine/executions/approvals.py puts for {where}     returns: the rows
-- Index: approval primary key; approval_open for the open ones, approval_execution for an execution's.
SELECT a.* FROM windlass.approval a WHERE {where} ORDER BY a.id DESC LIMIT $1
