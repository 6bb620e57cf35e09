"""Benchmarks of meshes run and measure what they say."""
