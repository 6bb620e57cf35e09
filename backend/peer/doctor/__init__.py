"""Examines for `minga peer doctor` which links to other peers this machine's network allows."""
