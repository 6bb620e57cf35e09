"""Drafts over HTTP, from the first file to the launch."""
