-- execution_heard_many: nobody is left in these executions who has not heard.
-- params: id uuid[]     returns: nothing
-- Index: primary key. Only once no transaction can be under way any more that began before it was asked.
UPDATE windlass.execution SET unheard_until = NULL WHERE id = ANY ($1::uuid[]) AND unheard_until <= clock_timestamp()
