"""Differential privacy of a task's clients: where the noise comes from, and what it is worth."""
