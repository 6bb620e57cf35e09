"""A mesh at a real server, over real sockets."""
