"""Benchmarks of costs: idle clients on a server, and step estimates beside measured steps."""
