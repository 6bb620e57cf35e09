"""Measures the layout and names of the repository: folders, import circles, class names, aliases, old words.

`tree` reads files, `*_reader` turn one file into facts, `figures` turns facts into culprits, `report` prints.
Reads files only: nothing of the project is imported, so that a tree that cannot run can be measured.
"""
