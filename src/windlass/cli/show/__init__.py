"""What people see of the API's answers: tables, records, trees, progress bars; JSON for programs.

Owns: the words, columns and colours at a terminal.
Promises: text that came from elsewhere cannot move the cursor, recolour or retitle the terminal
(`output`); no line of a table is wider than the terminal, and in a pipe ids are whole (`table`).
Results go to standard output, everything else to standard error.
Never: calls the server, except `execution_live`, which draws an execution until it has ended.

    output.py     lines, JSON and escaping: the only file that writes
    table.py      rows and records: `Column`, `columns`, `show_table`, `show_record`
    fit.py        a table that is too wide for the terminal: `fit`, `short_ids`
    moment.py     instants and durations in words
    progress.py   a line or a bar that is drawn over
    one a noun    job bulk event delivery execution (execution_tree: its steps) operation schedule
                  workflow: columns, a sentence, and `show_…` for what is no table
    unknown_settings.py   WINDLASS_… variables that mean nothing
"""
