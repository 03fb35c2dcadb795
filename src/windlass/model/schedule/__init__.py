"""Schedules: cron, intervals and single instants, in time zones with DST, calendars and misfires.

Owns: when a rule is due, how its clock changes are met (gap, overlap), which days are off, and what
becomes of every due instant: fired, late, skipped or coalesced (misfire, catch-up, overlap).
Promises: instants are exact and in order, stretches laid end to end miss nothing and have nothing
twice, and each due instant gets one decision (G6 is built on that); jitter is the same everywhere.
Never: fires anything, and never asks what time it is: `now` is an argument.

    cron text -> readings of a local clock -> (zone, dst) instants -> due -> decide -> the ledger

Doors:

    read         `read_rule`: the fields of a schedule -> `rule.Rule`, or all its problems
    rule         Rule, Every, At; `fire_at`: jitter
    next         `next_after`, `between`, `due`, `count_between`: the due instants of a rule
    decision     `pending`: what is due; `decide`: the misfire and overlap policies
    ledger       `split_rows`: a backfill takes instants out of a row that stood for them
    preview      the next instants with notes on clock changes; words: a rule as a sentence
    never        why a rule never fires
    placeholder  `${schedule.instant}` in what a schedule makes

Behind them: `cron`, `cron_field`, `cron_days` and `cron_words` for cron expressions, `zone` and
`dst` for time zones and daylight saving, `calendar` and `calendar_read` for days off and holidays.
"""
