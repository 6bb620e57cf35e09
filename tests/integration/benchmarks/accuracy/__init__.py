"""Benchmarks of accuracy run and agree with the documentation."""
