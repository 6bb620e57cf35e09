"""From a task file's text to its typed form, with errors that say which line and what to write instead.

The tables themselves stand in the folder above.
"""
