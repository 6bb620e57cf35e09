"""Reads pages of docs/ as instructions, for tests that follow them."""
