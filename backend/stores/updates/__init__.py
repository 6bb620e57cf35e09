"""Keeps the updates of a round until they are aggregated."""
