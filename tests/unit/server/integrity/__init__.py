"""Tests of the checks of versions for signs of a backdoor."""
