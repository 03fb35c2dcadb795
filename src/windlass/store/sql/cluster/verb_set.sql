-- verb_set: say what this transaction is about, for the trigger that guards finished jobs.
-- params: verb text     returns: nothing of use
SELECT set_config('windlass.verb', $1, true)
