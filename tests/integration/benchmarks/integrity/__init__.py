"""Tests of the benchmark of the integrity score."""
