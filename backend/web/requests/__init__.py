"""Parses and checks parts of a request: bodies, queries and numbers in URLs."""
