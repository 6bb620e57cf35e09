"""Benchmarks of work units run and agree with the documentation."""
