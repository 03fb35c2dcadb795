"""`windlass schedule import`: migrate crontabs and Celery beat schedules to schedules.

Owns: reading what other schedulers are told, and saying what becomes of it line by line.
Promises: nothing is run that stands in a crontab or a file (`module:attr` is imported, because it
was asked for); where a schedule differs from what it was, the report says how; the same import
again changes nothing.
Never: drops a line without a word.

    command.py           the commands `import crontab` and `import celery`
    crontab.py           reads a crontab
    crontab_entries.py   its lines as schedules
    job.py               the job that stands for a shell command
    celery_source.py     reads `beat_schedule`: from source, JSON or a module
    celery.py            its entries as schedules
    report.py            kept exactly, differs and how, or why not
"""
