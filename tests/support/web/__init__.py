"""A server in a process of its own, and those who speak to it."""
