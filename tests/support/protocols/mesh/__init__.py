"""A whole mesh on virtual time: the server's coordinator, its restarts, and the machines of all peers."""
