-- partition_drop: let go of a day, and keep what is left in it elsewhere.
-- params: parent text, partition text, kept_max int4 (rows), kept_bytes int8     returns: answer (see windlass.drop_partition)
SELECT windlass.drop_partition($1, $2, $3, $4) AS answer
