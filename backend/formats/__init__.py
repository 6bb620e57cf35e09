"""File formats that server and peers both read: task file, bundle manifest, shards.

Parsing and checks of the text only: nothing here opens a socket, a database or TensorFlow.
"""
