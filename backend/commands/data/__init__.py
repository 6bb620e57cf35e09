"""Commands that turn data into shards.

They read arguments and print; `datasets` does the work. Nothing here speaks to a server.
"""
