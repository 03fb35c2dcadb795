"""`windlass job …`: submit work and see what becomes of it.

Owns: the commands of jobs and their options.
Promises: what is typed becomes one call of the API a job, or one for a whole file or filter.
Never: decides what the server decides; a refusal is told in the server's words.

    command.py      the noun: list, show, wait for, change jobs
    submit.py       `submit`; submission.py: its options; file.py: many from one file
    bulk.py         a verb on all jobs that match: the options, the question, the wait
    complete.py     `complete`: end a job that waits for somebody outside
"""
