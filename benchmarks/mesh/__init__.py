"""Benchmarks of averaging among peers: links, groups, browsers, and members that fail."""
