"""Checks the translations of pages: that each sentence has one, and that it fits its English.

`sentences` collects the English of templates, pages and scripts, `po_file` reads a translation with its
lines, `checks` compares both, `command` prints what is wrong.
"""
