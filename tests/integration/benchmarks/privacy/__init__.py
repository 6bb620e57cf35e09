"""Attacks of the benchmarks, on data whose answer is known."""
