"""Builds the boards of work units for owners and clients, and the scores of results.

This package reads the host's state and never changes it.
"""
