"""Runs the lanes of the tests: their steps, records and summaries."""
