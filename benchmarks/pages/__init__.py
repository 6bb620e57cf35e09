"""Benchmarks of pages in a real Chromium: frame times, a slow network, an owner's walk."""
