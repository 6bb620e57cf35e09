"""Plugins of pytest: evidence of failures, requirements, second tries, the shared browser."""
