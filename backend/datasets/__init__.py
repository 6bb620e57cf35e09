"""Data sets of owners and volunteers: read, preprocessed, and cut into shards.

images.py, tables.py, texts.py and arrays.py fit what is declared and make stored arrays, a chunk at a time;
task_loader.py chooses among them, array_store.py keeps what they make on disk, cut.py deals it out.
"""
