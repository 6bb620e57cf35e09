"""Benchmarks of masked rounds: time in the browser, precision by bits, and sparse updates."""
