"""Attacks on rounds, masked or open, and on what is told of their noise."""
