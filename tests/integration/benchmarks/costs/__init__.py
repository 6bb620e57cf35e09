"""Benchmarks of costs run and measure what they say."""
