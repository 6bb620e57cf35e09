"""Starts this repository's programs as real processes, forked from servers with warm imports."""
