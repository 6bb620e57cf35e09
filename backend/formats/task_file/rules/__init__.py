"""What the tables of a task file demand of one another, one scheme or subject a file.

A rule that concerns a single table stands in the table's own file.
"""
