"""Rounds of a Byzantine mesh over real links."""
