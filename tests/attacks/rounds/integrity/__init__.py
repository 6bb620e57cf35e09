"""Backdoors in tasks whose versions are checked before they are offered."""
