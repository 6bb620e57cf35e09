"""Benchmarks of what a server and a device spend: idle clients, and estimates beside measured steps."""
