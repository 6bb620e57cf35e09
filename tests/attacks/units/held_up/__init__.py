"""Clients that hold an epoch up without doing its work."""
