"""Attacks on what everybody reaches: pages, blobs, messages and graphs."""
