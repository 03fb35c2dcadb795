"""Suites of figures, one a noun: which are measured, on what, and what each should be at least."""
