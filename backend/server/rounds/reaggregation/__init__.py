"""Reaggregation: what another rule would have made of the kept updates of a task's last rounds.

Only `reaggregations.py` is for callers. Nothing here changes the task, its versions or its records.
"""
