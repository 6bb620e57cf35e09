"""Adds differentially private noise to a task's updates, and accounts for its epsilon."""
