"""Measures the repository's layout and names: folders, import circles, classes, aliases, old words.

`tree` reads files, `*_reader` turn one file into facts, `figures` turns facts into culprits, `report` prints.
The package reads files only and imports nothing of the project, so that it can measure a tree that does not
run.
"""
