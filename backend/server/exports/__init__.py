"""Exports a task's results: its versions in other formats, its figures and its model card."""
