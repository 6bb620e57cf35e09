"""Rules between tables of a task file, one module per scheme or subject.

A rule that concerns a single table belongs in the table's own module.
"""
