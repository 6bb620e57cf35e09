"""Machines that every task has, whatever its scheme: its life and its alerts.

Nothing here knows of rounds, groups or units.
"""
