"""Tests of scores of a version's integrity."""
