"""State machines that every task has, whatever its scheme: its life cycle and its alerts.

They do not depend on rounds, groups or units.
"""
