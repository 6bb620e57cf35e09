"""Commands that cut data into shards.

They read arguments and print; `datasets` does the work. No code in this package contacts a server.
"""
