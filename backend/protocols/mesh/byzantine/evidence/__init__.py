"""Evidence that bans a member of a Byzantine mesh: how it is built, and how anybody checks it alone.

Pure functions; peer/mesh/banned.py keeps what was checked, wire/ban_evidence.py has its form.
"""
