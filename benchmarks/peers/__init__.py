"""Other queues on the same servers, each with the fastest settings its documentation offers.

A peer is measured as kindly as we can: its own bulk insert fills it, its table is settled like
ours, its tables stay durable, and the clock runs only while it drains. A peer that cannot be
had on this machine says why and gives None.

    on PostgreSQL   pgqueuer.py, graphile.py, dbos.py: durable, as ours
    on Valkey       celery.py, bullmq.py: in memory alone, in keys of their own (valkey.py)

    npm.py      those from npm, installed on first use beside their scripts (graphile/, bullmq/)
    starts.mjs  what a submitter and a task of Node do at a steady pace;  cpu.mjs  the CPU they use
    runs.py     drains that can be taken in turns
"""
