-- partition_make: make the partition of one day, or say why not.
-- params: parent text, day date     returns: answer (see windlass.make_partition), in a few hundred milliseconds at most
SELECT windlass.make_partition($1, $2) AS answer
